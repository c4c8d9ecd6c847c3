import type { Connections } from '../../../store/keys/connections.ts';
import { actorOf } from '../../auth/actor.ts';
import { goTo, type PageRouter, sendPage } from '../pageRouter.ts';
import { CLIENTS_PATH, clientsPage } from '../pages/clientsPage.ts';
import { single } from '../query.ts';

interface Dependencies {
  connections: Pick<Connections, 'list' | 'revoke'>;
}

/** Registers the list of connected clients. */
export function clientPages(pageRouter: PageRouter, { connections }: Dependencies): void {
  pageRouter.get(CLIENTS_PATH, async ({ ctx, viewer }) => {
    const rows = await connections.list(viewer.account._id);
    sendPage(ctx, clientsPage({ viewer, rows, isRevoked: single(ctx, 'done') === 'revoked' }));
  });

  pageRouter.post(
    `${CLIENTS_PATH}/:id/revoke`,
    async ({ ctx, viewer, id }) => {
      await connections.revoke(viewer.account._id, id, actorOf(ctx));
      goTo(ctx, `${CLIENTS_PATH}?done=revoked`);
    },
    { page: () => CLIENTS_PATH },
  );
}
