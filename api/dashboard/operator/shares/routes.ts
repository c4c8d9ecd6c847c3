import { readAddresses, readShares } from '../../../../store/accounts/shares.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { sendPage } from '../../frame/pageRouter.ts';
import { operatorSharesPage, SHARES_PATH } from './view.ts';

/** Registers the page of the accounts and addresses that use most of the service. */
export function sharesRoutes({ operatorPages: pages, core: { store } }: Dashboard): void {
  pages.get(SHARES_PATH, async ({ ctx, viewer }) => {
    const [shares, addresses] = await Promise.all([readShares(store), readAddresses(store)]);
    sendPage(ctx, operatorSharesPage(viewer, shares, addresses));
  });
}
