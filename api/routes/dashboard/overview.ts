import type { Lists } from '../../../store/lists.ts';
import type { Usage } from '../../../store/usage.ts';
import { firstDay } from '../../dashboard/pace.ts';
import { overviewPage } from '../../dashboard/pages/overview.ts';
import { accountRow } from '../account/rows.ts';
import { type Desk, HOME, sendPage } from './desk.ts';

interface Dependencies {
  lists: Lists;
  usage: Usage;
}

export function overviewPages(desk: Desk, { lists, usage }: Dependencies): void {
  desk.get(HOME, async ({ ctx, viewer }) => {
    const now = new Date();
    const accountId = viewer.account._id;
    const [used, keys] = await Promise.all([
      usage.since(accountId, firstDay(now)),
      lists.keys(accountId, { limit: 1 }),
    ]);
    const hasKey = keys.items.length > 0;
    sendPage(ctx, overviewPage({ viewer, account: accountRow(viewer.account), usage: used, hasKey, now }));
  });
}
