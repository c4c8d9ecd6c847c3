import type { Lists } from '../../../store/lists.ts';
import type { DailyToolUsage } from '../../../store/mongo.ts';
import { accountRow } from '../../account/rows.ts';
import { HOME, type PageRouter, sendPage } from '../pageRouter.ts';
import { overviewPage } from '../pages/overviewPage.ts';

interface Dependencies {
  lists: Lists;
  usageOf(accountId: string): Promise<DailyToolUsage[]>;
}

export function overviewPages(pageRouter: PageRouter, { lists, usageOf }: Dependencies): void {
  pageRouter.get(HOME, async ({ ctx, viewer }) => {
    const now = new Date();
    const accountId = viewer.account._id;
    const [usage, keys] = await Promise.all([usageOf(accountId), lists.keys(accountId, { limit: 1 })]);
    const hasKey = keys.items.length > 0;
    sendPage(ctx, overviewPage({ viewer, account: accountRow(viewer.account), usage, hasKey, now }));
  });
}
