import type { Account } from '../../../../store/accounts/accountDocs.ts';
import type { DailyUsage } from '../../../../store/billing/usage.ts';
import type { User } from '../../../auth/auth.ts';
import { alert, type Failure, notice } from '../../components/alert.ts';
import { amounts } from '../../components/amounts.ts';
import { columnChart } from '../../components/chart.ts';
import { inputField } from '../../components/field.ts';
import { postForm, referenceField } from '../../components/form.ts';
import { copyable, count, moment, percent, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { perDay, perTool, successOf, sumOf } from '../../pages/overview/pace.ts';
import { accountPath, OPERATOR_PATH, openWorkOf } from '../paths.ts';
import { accountListPath } from './listView.ts';

/** Days of the chart of calls. */
export const OPERATOR_USAGE_DAYS = 30;

/** The action that an operator just performed. */
export const DONE = {
  adjusted: 'The adjustment was recorded.',
  allowance:
    'The monthly allowance was set. It is granted within the hour, unless one was granted this month.',
  noAllowance: 'The monthly allowance was removed.',
  suspended: 'The account was suspended.',
  lifted: 'The suspension was ended.',
} as const;
export type Done = keyof typeof DONE;

/** The data of an account that an operator sees, besides its credits. */
export interface AccountDetails {
  /** The user who signs in with the address of the account; null if there is none. */
  user: User | null;
  sessions: number;
  usage: readonly DailyUsage[];
  /** The newest rows of each list, and whether there are more. */
  lists: readonly NewestRows[];
  now: Date;
}

interface NewestRows {
  /** Name of the list, which is the id of its section. */
  name: string;
  title: string;
  /** Null if the list is empty. */
  rows: Html | null;
  hasMore: boolean;
}

export interface AccountPage {
  viewer: Viewer;
  account: Account;
  details: AccountDetails;
  /** Idempotency reference, generated for each page: sending the form twice makes one adjustment. */
  reference: string;
  draft: { amount: string; reason: string; monthlyAllowance: string; suspensionReason: string };
  failure?: Failure;
  done?: Done;
}

const LABELS = {
  amount: 'Credits',
  reason: 'Reason',
  monthlyAllowance: 'Credits a month',
  suspensionReason: 'Reason for the owner',
};

const facts = ({ account, details: { user, sessions } }: AccountPage): Html => html`<dl class="facts">
<div><dt>Email</dt> <dd>${typed(account.email)}</dd></div>
<div><dt>Account</dt> <dd>${copyable(account._id)}</dd></div>
<div><dt>Opened</dt> <dd>${moment(account.createdAt.toISOString())}</dd></div>
<div><dt>Sign-in</dt> <dd>${
  user === null ? 'no user with this address' : html`${user.role}, ${count(sessions, 'active session')}`
}</dd></div>
<div><dt>Batches and jobs</dt> <dd><a href="${openWorkOf(account._id)}">What has not ended</a></dd></div>
${
  account.suspension === undefined
    ? null
    : html`<div><dt>Suspended</dt> <dd>${moment(account.suspension.at.toISOString())}: ${typed(account.suspension.reason)}</dd></div>`
}${
  account.pausedUntil === undefined || account.pausedUntil < new Date()
    ? null
    : html`<div><dt>Paused until</dt> <dd>${moment(account.pausedUntil.toISOString())}, because too many calls ended without a charge</dd></div>`
}${account.closedAt === undefined ? null : html`<div><dt>Closed</dt> <dd>${moment(account.closedAt.toISOString())}</dd></div>`}
</dl>`;

function usage({ details }: AccountPage): Html {
  if (details.usage.length === 0)
    return html`<p class="quiet">There are no calls in ${count(OPERATOR_USAGE_DAYS, 'day')}.</p>`;
  const days = perDay(details.usage, [], OPERATOR_USAGE_DAYS, details.now);
  const sums = sumOf(perTool(details.usage));
  return html`<p>${count(sums.calls, 'call')} and ${count(sums.charged, 'credit')} in ${count(OPERATOR_USAGE_DAYS, 'day')},
success ${percent(successOf(sums))}.</p>
${columnChart({
  title: 'Calls by day',
  unit: 'call',
  series: [
    { name: 'with result', tone: 'accent' },
    { name: 'failed', tone: 'bad' },
  ],
  columns: days.map(({ day, calls, succeeded }) => ({ label: day, values: [succeeded, calls - succeeded] })),
})}`;
}

const section = (accountId: string, { name, title, rows, hasMore }: NewestRows): Html =>
  html`<h2 id="${name}">${title}</h2>
${rows ?? html`<p class="quiet">There are none.</p>`}
${hasMore ? html`<p><a href="${accountListPath(accountId, name)}">Show all<span class="unseen"> of ${title}</span></a></p>` : null}
`;

function suspensionForm({
  viewer,
  account,
  draft,
  failure = null,
}: Pick<AccountPage, 'viewer' | 'account' | 'draft'> & { failure: Failure | null }): Html {
  const lift = postForm({
    action: `${accountPath(account._id)}/lift`,
    viewer,
    content: html`<button>End the suspension</button>`,
  });
  if (account.suspension !== undefined) return lift;
  const suspend = postForm({
    action: `${accountPath(account._id)}/suspension`,
    viewer,
    content: html`${inputField({
      name: 'suspensionReason',
      label: LABELS.suspensionReason,
      value: draft.suspensionReason,
      hint: 'Calls are refused from the next request on. Sessions and keys stay, and running calls are completed.',
      attributes: { required: '', maxlength: 500 },
      failure,
    })}
<button class="danger">Suspend the account</button>`,
  });
  return account.pausedUntil !== undefined && account.pausedUntil > new Date()
    ? html`${lift}
${suspend}`
    : suspend;
}

function forms({ viewer, account, reference, draft, ...page }: AccountPage): Html {
  const failure = page.failure ?? null;
  return html`<h2 id="adjustment">Adjustment</h2>
${postForm({
  action: `${accountPath(account._id)}/adjustment`,
  viewer,
  content: html`${referenceField(reference)}
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
  hint: 'Kept with the adjustment and your name; the owner sees neither.',
  attributes: { required: '', maxlength: 500 },
  failure,
})}
<button>Review the adjustment</button>`,
})}
<h2 id="allowance">Monthly allowance</h2>
${postForm({
  action: `${accountPath(account._id)}/allowance`,
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
})}
<h2 id="suspension">Suspension</h2>
${suspensionForm({ viewer, account, draft, failure })}`;
}

/** For operators: everything about an account, with forms that change its credits. */
export const operatorAccountPage = (page: AccountPage): string => {
  const { viewer, account, details, failure = null, done } = page;
  return layout({
    title: 'Account',
    menu: { viewer, section: 'Operator' },
    parent: { path: OPERATOR_PATH, name: 'Operator' },
    main: html`${alert(failure, LABELS)}${done === undefined ? null : notice(html`<p>${DONE[done]}</p>`)}
${facts(page)}
${amounts([
  { term: 'Balance', value: account.balance, note: 'granted minus charged' },
  { term: 'Reserved', value: account.reserved, note: 'by running calls' },
  { term: 'Shortfall', value: account.shortfall, note: 'above 0 the account is suspended' },
  { term: 'Allowance', value: account.monthlyAllowance, note: 'granted each month' },
])}
<nav class="segments" aria-label="On this page"><ul>
<li><a href="#usage">Usage</a></li>${details.lists.map(({ name, title }) => html`<li><a href="#${name}">${title}</a></li>`)}<li><a href="#adjustment">Adjustment</a></li><li><a href="#allowance">Monthly allowance</a></li><li><a href="#suspension">Suspension</a></li>
</ul></nav>
<h2 id="usage">Usage</h2>
${usage(page)}
${details.lists.map((rows) => section(account._id, rows))}
${forms(page)}`,
  });
};
