import type { Account } from '../../../store/mongo.ts';
import type { Page } from '../../../store/pages.ts';
import type { Readiness } from '../../../workers/platform/readiness.ts';
import { alert, empty, type Failure, notice } from '../components/alert.ts';
import { amounts } from '../components/amounts.ts';
import { inputField } from '../components/field.ts';
import { postForm, referenceField } from '../components/form.ts';
import { pager } from '../components/pager.ts';
import { table } from '../components/table.ts';
import { badge, moment, number, typed } from '../components/text.ts';
import { type Html, html } from '../html.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

export const OPERATOR_PATH = '/dashboard/operator';

export const accountPath = (id: string): string => `${OPERATOR_PATH}/accounts/${encodeURIComponent(id)}`;

interface AccountsPage {
  viewer: Viewer;
  accounts: Page<Account>;
  cursor: string | undefined;
  email: string;
  /** http or https URL; null when not configured. */
  temporalUiUrl: string | null;
  readiness: Readiness;
}

const readinessList = ({ status, checks }: Readiness): Html => html`<p>${
  status === 'ready' ? badge('ready', 'good') : badge('not ready', 'bad')
}</p>
<ul class="checks">${Object.entries(checks).map(
  ([name, state]) => html`<li>${name} ${badge(state, state === 'ok' ? 'good' : 'bad')}</li>`,
)}</ul>`;

/** For operators: readiness and all accounts. */
export const operatorPage = ({
  viewer,
  accounts,
  cursor,
  email,
  temporalUiUrl,
  readiness,
}: AccountsPage): string =>
  layout({
    title: 'Operator',
    menu: { viewer, section: 'Operator' },
    main: html`<h2>Pools</h2>
${readinessList(readiness)}${
  temporalUiUrl === null ? null : html`<p><a href="${temporalUiUrl}">Temporal UI</a></p>`
}
<h2>Accounts</h2>
<form class="filter" method="get" action="${OPERATOR_PATH}">
${inputField({ name: 'email', label: 'Email (full address)', type: 'search', value: email, failure: null })}
<button class="plain">Show</button>
</form>
${
  accounts.items.length === 0
    ? empty(html`<p>No account has this email address. <a href="${OPERATOR_PATH}">Show all accounts</a>.</p>`)
    : table<Account>(
        'Accounts, newest first',
        [
          { title: 'Email', cell: (row) => html`<a href="${accountPath(row._id)}">${typed(row.email)}</a>` },
          { title: 'Balance', numeric: true, cell: ({ balance }) => number(balance) },
          { title: 'Reserved', numeric: true, cell: ({ reserved }) => number(reserved) },
          { title: 'Shortfall', numeric: true, cell: ({ shortfall }) => number(shortfall) },
          { title: 'Opened', cell: ({ createdAt }) => moment(createdAt.toISOString()) },
        ],
        accounts.items,
      )
}
${pager({ path: OPERATOR_PATH, query: email === '' ? {} : { email }, cursor, nextCursor: accounts.nextCursor })}`,
  });

const allowancePath = (id: string): string => `${accountPath(id)}/allowance`;

/** The action that an operator just performed. */
export const DONE = {
  adjusted: 'The adjustment was recorded.',
  allowance:
    'The monthly allowance was set. It is granted within the hour, unless one was granted this month.',
  noAllowance: 'The monthly allowance was removed.',
} as const;
export type Done = keyof typeof DONE;

export interface AccountPage {
  viewer: Viewer;
  account: Account;
  /** Idempotency reference, generated for each page: sending the form twice makes one adjustment. */
  reference: string;
  draft: { amount: string; reason: string; monthlyAllowance: string };
  failure?: Failure;
  done?: Done;
}

const LABELS = { amount: 'Credits', reason: 'Reason', monthlyAllowance: 'Credits a month' };

/** For operators: an account, with forms that change its credits. */
export const operatorAccountPage = (page: AccountPage): string => {
  const { viewer, account, draft, failure = null, done } = page;
  return layout({
    title: 'Account',
    menu: { viewer, section: 'Operator' },
    main: html`${alert(failure, LABELS)}${done === undefined ? null : notice(html`<p>${DONE[done]}</p>`)}
<p>${typed(account.email)} <code>${account._id}</code></p>
${amounts([
  { term: 'Balance', value: account.balance, note: 'granted minus charged' },
  { term: 'Reserved', value: account.reserved, note: 'by running calls' },
  { term: 'Shortfall', value: account.shortfall, note: 'above 0 the account is suspended' },
  { term: 'Allowance', value: account.monthlyAllowance, note: 'granted each month' },
])}
<h2>Adjustment</h2>
${postForm({
  action: accountPath(account._id),
  viewer,
  content: html`${referenceField(page.reference)}
${inputField({
  name: 'amount',
  label: LABELS.amount,
  type: 'number',
  value: draft.amount,
  hint: 'A positive number adds credits. A negative number removes at most the available credits; the rest becomes a shortfall, which suspends the account.',
  attributes: { required: '', step: 1 },
  failure,
})}
${inputField({
  name: 'reason',
  label: LABELS.reason,
  value: draft.reason,
  hint: 'Kept with the adjustment; the owner does not see it.',
  attributes: { required: '', maxlength: 500 },
  failure,
})}
<button>Adjust</button>`,
})}
<h2>Monthly allowance</h2>
${postForm({
  action: allowancePath(account._id),
  viewer,
  content: html`${inputField({
    name: 'monthlyAllowance',
    label: LABELS.monthlyAllowance,
    type: 'number',
    value: draft.monthlyAllowance,
    hint: 'Granted at the start of each calendar month (UTC). 0 means no allowance.',
    attributes: { required: '', min: 0, step: 1 },
    failure,
  })}
<button>Set the allowance</button>`,
})}`,
  });
};
