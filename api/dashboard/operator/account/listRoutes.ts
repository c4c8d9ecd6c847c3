import { ServiceError } from '../../../../schemas/errors.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, sendPage } from '../../frame/pageRouter.ts';
import { pageOf } from '../../frame/query.ts';
import { OPERATOR_PATH } from '../paths.ts';
import type { AccountList } from './lists.ts';
import { operatorAccountListPage } from './listView.ts';

export function listRoutes({ operatorPages: pages, core }: Dashboard, lists: readonly AccountList[]): void {
  for (const { name, title, show } of lists)
    pages.get(`${OPERATOR_PATH}/accounts/:id/${name}`, async ({ ctx, viewer, id }) => {
      const account = await core.accounts.find(id);
      if (account === null) throw new ServiceError('not_found');
      const page = pageOf(ctx);
      const shown = { viewer, account, name, title, cursor: page.cursor };
      await attempt(
        ctx,
        async () => sendPage(ctx, operatorAccountListPage({ ...shown, ...(await show(account, page)) })),
        (failure) => operatorAccountListPage({ ...shown, rows: null, nextCursor: null, failure }),
      );
    });
}
