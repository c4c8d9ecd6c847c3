import type { Readiness } from '../../../../platform/readiness.ts';
import type { KeyRow } from '../../../../schemas/accountRows.ts';
import type { Account } from '../../../../store/accounts/accountDocs.ts';
import type { Purchase } from '../../../../store/billing/payments.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { empty } from '../../components/alert.ts';
import { inputField } from '../../components/field.ts';
import { stateBadge } from '../../components/keyState.ts';
import { pager } from '../../components/pager.ts';
import { price } from '../../components/price.ts';
import { table } from '../../components/table.ts';
import { badge, count, moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { accountPath, OPERATOR_PATH, operatorReceiptPath } from '../paths.ts';
import { readinessList } from '../readinessList.ts';

/** A key that a search found, with its owner. */
interface KeyHit {
  row: KeyRow;
  accountId: string;
  email: string;
}

interface OperatorPage {
  viewer: Viewer;
  /** The search text; empty before the first search. */
  query: string;
  /** All accounts, or those that the search found. */
  accounts: Page<Account>;
  /** The keys that the search found; null if it was no search for a key. */
  keys: readonly KeyHit[] | null;
  cursor: string | undefined;
  /** Payments to closed accounts that must be refunded. */
  due: readonly Purchase[];
  /** http or https URL; null when not configured. */
  temporalUiUrl: string | null;
  readiness: Readiness;
}

const searchForm = (query: string): Html =>
  html`<form class="filter" role="search" method="get" action="${OPERATOR_PATH}">
${inputField({
  name: 'q',
  label: 'Search',
  type: 'search',
  value: query,
  attributes: { maxlength: 254, autocomplete: 'off', spellcheck: 'false' },
  failure: null,
})}
<button class="plain">Search</button>
</form>
<p class="quiet">A part of an email address, the beginning of a key (<code>ut_…</code>), or the id of an account, key, call or
request.</p>`;

const accountTable = (accounts: readonly Account[]): Html =>
  table<Account>(
    'Accounts, newest first',
    [
      { title: 'Email', cell: (row) => html`<a href="${accountPath(row._id)}">${typed(row.email)}</a>` },
      { title: 'Balance', numeric: true, cell: ({ balance }) => number(balance) },
      { title: 'Reserved', numeric: true, cell: ({ reserved }) => number(reserved) },
      { title: 'Shortfall', numeric: true, cell: ({ shortfall }) => number(shortfall) },
      { title: 'Opened', isLabelled: true, cell: ({ createdAt }) => moment(createdAt.toISOString()) },
    ],
    accounts,
    { isCompact: true },
  );

const keyTable = (keys: readonly KeyHit[]): Html =>
  table<KeyHit>(
    `${count(keys.length, 'key')}, newest first`,
    [
      { title: 'Prefix', cell: ({ row }) => html`<code>${row.prefix}…</code>` },
      { title: 'Name', cell: ({ row }) => typed(row.name) },
      { title: 'State', cell: ({ row }) => stateBadge(row) },
      { title: 'Last used', cell: ({ row }) => moment(row.lastUsedAt) },
      {
        title: 'Account',
        cell: ({ accountId, email }) => html`<a href="${accountPath(accountId)}#keys">${typed(email)}</a>`,
      },
    ],
    keys,
  );

const NOTHING = empty(html`<p>Nothing was found. <a href="${OPERATOR_PATH}">Show all accounts</a>.</p>`);

function results({ accounts, keys, query, cursor }: OperatorPage): Html {
  if (keys !== null) return keys.length === 0 ? NOTHING : keyTable(keys);
  if (accounts.items.length === 0) return NOTHING;
  return html`${accountTable(accounts.items)}
${pager({ path: OPERATOR_PATH, query: query === '' ? {} : { q: query }, cursor, nextCursor: accounts.nextCursor })}`;
}

const dueTable = (due: readonly Purchase[]): Html =>
  html`<h2 id="refunds">Payments to refund</h2>
<p>These payments were confirmed after their account was closed. Refund them at Stripe; Stripe then reports it, and they disappear here.</p>
${table<Purchase>(
  'Payments to refund, newest first',
  [
    { title: 'Paid', cell: ({ paidAt }) => moment(paidAt.toISOString()) },
    { title: 'Price', numeric: true, cell: ({ amount, currency }) => price(amount, currency) },
    { title: 'Payment', cell: ({ _id }) => html`<a href="${operatorReceiptPath(_id)}">${typed(_id)}</a>` },
    { title: 'Account', cell: ({ accountId }) => html`<a href="${accountPath(accountId)}">${accountId}</a>` },
  ],
  due,
  { isNamed: true },
)}`;

/** For operators: accounts with a search, payments to refund, and the readiness of the pools. */
export function operatorPage(page: OperatorPage): string {
  const { viewer, query, due, temporalUiUrl, readiness } = page;
  return layout({
    title: 'Operator',
    menu: { viewer, section: 'Operator' },
    actions: html`<nav class="segments" aria-label="Operator"><ul>
<li><a href="${OPERATOR_PATH}/sales">Sign-ups and revenue</a></li><li><a href="${OPERATOR_PATH}/shares">Shares of accounts</a></li><li><a href="${OPERATOR_PATH}/batches">Batches and jobs</a></li><li><a href="${OPERATOR_PATH}/pools">Queues and pools</a></li><li><a href="${OPERATOR_PATH}/incidents">Incidents</a></li><li><a href="${OPERATOR_PATH}/notice">Notice</a></li>
</ul></nav>`,
    main: html`${searchForm(query)}
${results(page)}
${due.length === 0 ? null : dueTable(due)}
<div class="head"><h2>Readiness</h2>${readiness.status === 'ready' ? badge('ready', 'good') : badge('not ready', 'bad')}</div>
${readinessList(readiness)}${
  temporalUiUrl === null ? null : html`<p><a href="${temporalUiUrl}">Temporal UI</a></p>`
}`,
  });
}
