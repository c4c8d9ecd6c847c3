import { ServiceError } from '../../../../schemas/errors.ts';
import { createSearch } from '../../../../store/accounts/search.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { sendPage } from '../../frame/pageRouter.ts';
import { OPERATOR_PATH } from '../paths.ts';
import { operatorCallPage } from './view.ts';

/** Registers the operator's page of a call of any account. */
export function callRoutes({ operatorPages: pages, core: { store, accounts } }: Dashboard): void {
  const search = createSearch(store);

  pages.get(`${OPERATOR_PATH}/calls/:id`, async ({ ctx, viewer, id }) => {
    const call = await search.call(id);
    if (call === null) throw new ServiceError('not_found');
    const owner = await accounts.find(call.accountId);
    sendPage(ctx, operatorCallPage({ viewer, call, email: owner?.email ?? call.accountId }));
  });
}
