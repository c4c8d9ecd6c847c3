import { actorOf } from '../../../auth/actor.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { goTo, sendPage } from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import { CONNECTED_APPS_PATH, connectedAppsPage } from './view.ts';

/** Registers the list of connected apps. */
export function connectedAppsRoutes({ pages, connections }: Dashboard): void {
  pages.get(CONNECTED_APPS_PATH, async ({ ctx, viewer }) => {
    const rows = await connections.list(viewer.account._id);
    sendPage(ctx, connectedAppsPage({ viewer, rows, isRevoked: single(ctx, 'done') === 'revoked' }));
  });

  pages.post(
    `${CONNECTED_APPS_PATH}/:id/revoke`,
    async ({ ctx, viewer, id }) => {
      await connections.revoke(viewer.account._id, id, actorOf(ctx));
      goTo(ctx, `${CONNECTED_APPS_PATH}?done=revoked`);
    },
    { page: () => CONNECTED_APPS_PATH },
  );
}
