import type { CallRow, EntryRow, KeyRow } from '../../../../schemas/accountRows.ts';
import type { WebhookRow } from '../../../../schemas/webhookRows.ts';
import type { GrantDoc, GrantOperator } from '../../../../store/accounts/accountDocs.ts';
import type { NoticeDoc } from '../../../../store/webhooks/webhookDocs.ts';
import { stateBadge as keyState, scopeOf } from '../../components/keyState.ts';
import { table } from '../../components/table.ts';
import { copyable, count, entryType, moment, number, percent, signed, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { OUTCOME_COLUMNS } from '../../pages/calls/columns.ts';
import { failuresOf, stateBadge as webhookState } from '../../pages/webhooks/listView.ts';
import { accountPath, operatorCallPath } from '../paths.ts';

/** This file contains the tables of an account for operators. */

/** The email addresses of the accounts of operators, by account id. */
export type OperatorEmails = ReadonlyMap<string, string>;

const NAMED = { isNamed: true };

/** Shows the operator who made an adjustment, or that it was made at the command line. */
function operatorCell(operator: GrantOperator | undefined, emails: OperatorEmails): Html | string {
  if (operator === undefined) return '';
  if (operator === 'command line') return operator;
  const { accountId, userId } = operator;
  const name = typed(emails.get(accountId) ?? accountId);
  return html`<a href="${accountPath(accountId)}">${name}</a> ${copyable(userId)}`;
}

export const keyTable = (keys: readonly KeyRow[]): Html =>
  table<KeyRow>(
    'Keys, newest first',
    [
      { title: 'Name', cell: ({ name }) => typed(name) },
      { title: 'Prefix', cell: ({ prefix }) => html`<code>${prefix}…</code>` },
      { title: 'Id', cell: ({ id }) => copyable(id) },
      { title: 'Access', cell: scopeOf },
      { title: 'State', cell: keyState },
      { title: 'Spent this month', numeric: true, cell: ({ spentThisMonth }) => number(spentThisMonth) },
      { title: 'Last used', cell: ({ lastUsedAt }) => moment(lastUsedAt) },
    ],
    keys,
    NAMED,
  );

export const callTable = (calls: readonly CallRow[]): Html =>
  table<CallRow>(
    'Calls, newest first',
    [
      {
        title: 'Accepted',
        cell: ({ id, startedAt }) => html`<a href="${operatorCallPath(id)}">${moment(startedAt)}</a>`,
      },
      { title: 'Tool', cell: ({ tool }) => tool },
      ...OUTCOME_COLUMNS,
    ],
    calls,
    { isNamed: true, isCompact: true },
  );

/** A ledger entry, and the operator who made it. */
type OperatorEntry = EntryRow & { operator: GrantOperator | undefined };

export const entryTable = (entries: readonly OperatorEntry[], emails: OperatorEmails): Html =>
  table<OperatorEntry>(
    'Entries, newest first',
    [
      { title: 'When', cell: ({ at }) => moment(at) },
      { title: 'Type', cell: ({ type }) => entryType(type) },
      {
        title: 'For',
        cell: ({ callId, tool, reference }) =>
          callId === null
            ? reference && typed(reference)
            : html`<a href="${operatorCallPath(callId)}">${tool ?? callId}</a>`,
      },
      { title: 'By', cell: ({ operator }) => operatorCell(operator, emails) },
      { title: 'Amount', numeric: true, cell: ({ amount }) => signed(amount) },
      { title: 'Balance', numeric: true, cell: ({ balanceAfter }) => number(balanceAfter) },
    ],
    entries,
    NAMED,
  );

export const grantTable = (grants: readonly GrantDoc[], emails: OperatorEmails): Html =>
  table<GrantDoc>(
    'Grants and adjustments, newest first',
    [
      { title: 'When', cell: ({ at }) => moment(at.toISOString()) },
      { title: 'Type', cell: ({ type }) => entryType(type) },
      { title: 'Requested', numeric: true, cell: ({ requested }) => signed(requested) },
      { title: 'Applied', numeric: true, cell: ({ applied }) => signed(applied) },
      { title: 'By', cell: ({ operator }) => operatorCell(operator, emails) },
      { title: 'Reason', cell: ({ reason }) => (reason ? typed(reason) : null) },
    ],
    grants,
    NAMED,
  );

export const webhookTable = (webhooks: readonly WebhookRow[]): Html =>
  table<WebhookRow>(
    'Webhook endpoints, newest first',
    [
      { title: 'Address', cell: ({ url }) => typed(url) },
      { title: 'State', cell: webhookState },
      { title: 'Consecutive failures', cell: failuresOf },
      { title: 'Disabled', cell: ({ disabledAt }) => moment(disabledAt) },
      { title: 'Created', cell: ({ createdAt }) => moment(createdAt) },
    ],
    webhooks,
    NAMED,
  );

function subjectOf(notice: NoticeDoc): Html {
  switch (notice.kind) {
    case 'balance':
      return html`balance below ${notice.thresholds.map(number).join(', ')}: ${count(notice.balance, 'credit')}`;
    case 'refused':
      return html`requests refused: ${notice.code}`;
    case 'budget':
      return html`key ${typed(notice.keyName)}: ${percent(notice.percent)} of its budget per ${notice.period}`;
    case 'topUp':
      return html`automatic top-up not made: ${notice.reason}`;
  }
  return html`endpoint disabled: ${typed(notice.url)}`;
}

export const noticeTable = (notices: readonly NoticeDoc[]): Html =>
  table<NoticeDoc>(
    'Notices, newest first',
    [
      { title: 'When', cell: ({ at }) => moment(at.toISOString()) },
      { title: 'Subject', cell: subjectOf },
      { title: 'Attempts', numeric: true, cell: ({ tries }) => tries },
      { title: 'Next attempt', cell: ({ dueAt }) => moment(dueAt?.toISOString() ?? null, 'none') },
    ],
    notices,
    NAMED,
  );
