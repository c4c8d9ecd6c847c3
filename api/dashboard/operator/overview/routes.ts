import { createSearch } from '../../../../store/accounts/search.ts';
import { keyRow } from '../../../account/rows.ts';
import type { Context } from '../../../http/context.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { goTo, sendPage } from '../../frame/pageRouter.ts';
import { pageOf, single } from '../../frame/query.ts';
import { accountPath, OPERATOR_PATH, operatorCallPath } from '../paths.ts';
import { operatorPage } from './view.ts';

/** Most payments to refund that are shown. */
const MAX_DUE = 50;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const NO_ACCOUNTS = { items: [], nextCursor: null };
/** Spend is not shown in results. */
const NO_SPEND = {};

/** The search text without control characters, which addresses and ids cannot contain. */
const queryOf = (ctx: Context): string =>
  single(ctx, 'q')
    .replaceAll(/\p{Cc}/gu, '')
    .trim()
    .slice(0, 254);

/** Registers the operator's pages: accounts with a search, and calls of all accounts. */
export function overviewRoutes({ operatorPages: pages, core, payments, readiness }: Dashboard): void {
  const { env, store, lists, accounts } = core;
  const search = createSearch(store);

  /** Finds the page of the account, key, call or request with this id. */
  async function pathOf(id: string): Promise<string | null> {
    if (id.startsWith('acc_')) return (await accounts.find(id)) && accountPath(id);
    if (id.startsWith('key_')) {
      const key = await search.key(id);
      return key && `${accountPath(key.accountId)}#keys`;
    }
    if (!id.startsWith('req_') && !UUID.test(id)) return null;
    const call = await search.call(id);
    return call && operatorCallPath(call._id);
  }

  async function findKeys(query: string) {
    if (!query.startsWith('ut_')) return null;
    const found = await search.keys(query);
    return found.map(({ key, email }) => ({
      row: keyRow(key, NO_SPEND),
      accountId: key.accountId,
      email,
    }));
  }

  pages.get(OPERATOR_PATH, async ({ ctx, viewer }) => {
    const query = queryOf(ctx);
    const path = query === '' ? null : await pathOf(query);
    if (path !== null) return goTo(ctx, path);
    const page = pageOf(ctx);
    const keys = await findKeys(query);
    const found = () => (query === '' ? lists.accounts({}, page) : search.accounts(query, page));
    const [rows, due, ready] = await Promise.all([
      keys === null ? found() : NO_ACCOUNTS,
      payments.listDue(MAX_DUE),
      readiness(),
    ]);
    const temporalUiUrl = env.TEMPORAL_UI_URL;
    const { cursor } = page;
    sendPage(
      ctx,
      operatorPage({ viewer, query, accounts: rows, keys, cursor, due, temporalUiUrl, readiness: ready }),
    );
  });
}
