import { ServiceError } from '../../../schemas/errors.ts';
import type { Accounts } from '../../../store/accounts/accounts.ts';
import { createAccountLists } from '../operatorAccountLists.ts';
import { operatorRouter } from '../operatorRouter.ts';
import { attempt, type PageRouter, sendPage } from '../pageRouter.ts';
import { operatorAccountListPage } from '../pages/operatorAccountListPage.ts';
import { OPERATOR_PATH } from '../pages/operatorPage.ts';
import { pageOf } from '../query.ts';

type Dependencies = Parameters<typeof createAccountLists>[0] & { accounts: Pick<Accounts, 'find'> };

/** Registers a page for each list of an account, for operators. */
export function operatorAccountListPages(pageRouter: PageRouter, deps: Dependencies): void {
  const pages = operatorRouter(pageRouter);
  for (const { name, title, show } of createAccountLists(deps))
    pages.get(`${OPERATOR_PATH}/accounts/:id/${name}`, async ({ ctx, viewer, id }) => {
      const account = await deps.accounts.find(id);
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
