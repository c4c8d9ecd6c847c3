import type { Account } from '../../../../store/accounts/accountDocs.ts';
import { alert, type Failure } from '../../components/alert.ts';
import { pager } from '../../components/pager.ts';
import { typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { accountPath } from '../paths.ts';

interface ListPage {
  viewer: Viewer;
  account: Pick<Account, '_id' | 'email'>;
  name: string;
  title: string;
  /** Null if the page has no rows. */
  rows: Html | null;
  cursor: string | undefined;
  nextCursor: string | null;
  failure?: Failure;
}

export const accountListPath = (accountId: string, name: string): string =>
  `${accountPath(accountId)}/${name}`;

/** For operators: one list of an account, page by page. */
export function operatorAccountListPage(page: ListPage): string {
  const { viewer, account, name, title, rows, cursor, nextCursor, failure } = page;
  const path = accountListPath(account._id, name);
  return layout({
    title,
    menu: { viewer, section: 'Operator' },
    parent: { path: accountPath(account._id), name: 'Account' },
    main: html`${alert(failure ?? null)}
<p class="quiet">Of the account ${typed(account.email)}, newest first.</p>
${rows ?? html`<p class="quiet">There are none.</p>`}
${pager({ path, query: {}, cursor, nextCursor })}`,
  });
}
