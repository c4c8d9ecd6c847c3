import type { Dashboard } from '../../../frame/dashboard.ts';
import { attempt, sendPage } from '../../../frame/pageRouter.ts';
import { pageOf } from '../../../frame/query.ts';
import { LOG_PATH } from '../paths.ts';
import { securityLogPage } from './view.ts';

export function securityLogRoutes({ pages, core: { lists } }: Dashboard): void {
  pages.get(LOG_PATH, async ({ ctx, viewer }) => {
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
