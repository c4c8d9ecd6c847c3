import { refusalRow } from '../../../account/rows.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { sendPage } from '../../frame/pageRouter.ts';
import { pageOf, single } from '../../frame/query.ts';
import { REFUSED_PATH, refusedPage } from './view.ts';

/** Registers the page of refused requests. */
export function refusedRoutes({ pages, core: { lists } }: Dashboard): void {
  pages.get(REFUSED_PATH, async ({ ctx, viewer }) => {
    const accountId = viewer.account._id;
    const requestId = single(ctx, 'request').trim();
    const found = requestId === '' ? null : await lists.refusal(accountId, requestId);
    const page = pageOf(ctx);
    const { items, nextCursor } =
      found === null ? await lists.refusals(accountId, {}, page) : { items: [found], nextCursor: null };
    sendPage(
      ctx,
      refusedPage({
        viewer,
        refusals: { items: items.map((doc) => ({ ...refusalRow(doc), keyId: doc.keyId })), nextCursor },
        cursor: page.cursor,
        requestId: found === null ? '' : requestId,
      }),
    );
  });
}
