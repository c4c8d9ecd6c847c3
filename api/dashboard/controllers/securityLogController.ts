import type { Lists } from '../../../store/mongo/lists.ts';
import { attempt, type PageRouter, sendPage } from '../pageRouter.ts';
import { securityLogPage } from '../pages/securityLogPage.ts';
import { pageOf } from '../query.ts';
import { LOG_PATH } from '../settingsPaths.ts';

/** Registers the page of the security log. */
export function securityLogPages(pageRouter: PageRouter, lists: Pick<Lists, 'securityEvents'>): void {
  pageRouter.get(LOG_PATH, async ({ ctx, viewer }) => {
    const request = pageOf(ctx);
    const { cursor } = request;
    const show = async () => {
      const events = await lists.securityEvents(viewer.account._id, request);
      sendPage(ctx, securityLogPage({ viewer, events, cursor }));
    };
    await attempt(ctx, show, (failure) =>
      securityLogPage({ viewer, events: { items: [], nextCursor: null }, cursor, failure }),
    );
  });
}
