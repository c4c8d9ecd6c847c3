import { MAX_FAILURES } from '../../../schemas/webhookLimits.ts';
import type { AttemptRow, WebhookRow } from '../../../schemas/webhookRows.ts';
import type { Page } from '../../../store/pages.ts';
import { alert, empty, type Failure, notice } from '../components/alert.ts';
import { choice, selectField } from '../components/field.ts';
import { actionButton, confirmation, postForm } from '../components/form.ts';
import { pager } from '../components/pager.ts';
import { table } from '../components/table.ts';
import { badge, count, duration, moment, typed } from '../components/text.ts';
import { type Html, html } from '../html.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';
import {
  failuresOf,
  stateBadge,
  WEBHOOK_LABELS,
  type WebhookDraft,
  webhookFields,
  webhookPath,
  webhookSecret,
} from './webhooksPage.ts';

/** The action that was just performed on the endpoint. */
export type Done =
  | { kind: 'made' | 'rotated'; secret: string }
  | { kind: 'tested'; attempt: AttemptRow }
  | { kind: 'resent'; queued: number }
  | { kind: 'enabled' | 'activated' | 'changed' };

interface WebhookPage {
  viewer: Viewer;
  webhook: WebhookRow;
  attempts: Page<AttemptRow>;
  cursor: string | undefined;
  draft: WebhookDraft;
  failure?: Failure;
  done?: Done | null;
}

/** Periods that can be resent, in hours. */
export const RESEND_HOURS = [
  { value: '1', label: 'the last hour' },
  { value: '24', label: 'the last day' },
  { value: '72', label: 'the last 3 days' },
  { value: '336', label: 'the last 14 days' },
];

const isSuccess = ({ statusCode }: AttemptRow): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300;

const status = (attempt: AttemptRow): Html =>
  badge(
    attempt.statusCode === null ? 'no response' : `${attempt.statusCode}`,
    isSuccess(attempt) ? 'good' : 'bad',
  );

const responseOf = ({ error, responseBody }: AttemptRow): Html => {
  if (error !== null) return html`${error}`;
  if (responseBody === null) return html`<span class="quiet">no longer kept</span>`;
  if (responseBody === '') return html`<span class="quiet">empty</span>`;
  return html`<details><summary>${count(responseBody.length, 'character')}</summary>
<pre tabindex="0">${responseBody}</pre>
</details>`;
};

function tested(attempt: AttemptRow): Html {
  const { statusCode, durationMs, error } = attempt;
  const answer =
    statusCode === null
      ? (error ?? 'The server did not respond.')
      : `Your server answered ${statusCode} in ${duration(durationMs)}.`;
  return isSuccess(attempt)
    ? notice(html`<p>The test was delivered. ${answer}</p>`)
    : html`${alert({ message: `The test failed. ${answer}`, faults: [] })}`;
}

function doneNotice(done: Done): Html {
  switch (done.kind) {
    case 'made':
      return webhookSecret('The signing secret', done.secret);
    case 'rotated':
      return webhookSecret('The new signing secret', done.secret);
    case 'tested':
      return tested(done.attempt);
    case 'resent':
      return notice(html`<p>${count(done.queued, 'delivery was', 'deliveries were')} queued again.</p>`);
    case 'enabled':
      return notice(html`<p>The endpoint is enabled. You can resend held deliveries below.</p>`);
    case 'activated':
      return notice(html`<p>From now on only the new secret signs deliveries.</p>`);
    case 'changed':
      return notice(html`<p>The endpoint was changed.</p>`);
  }
}

const attemptTable = (attempts: readonly AttemptRow[]): Html =>
  table<AttemptRow>(
    'Attempts, newest first',
    [
      { title: 'When', cell: ({ at }) => moment(at) },
      { title: 'Event', cell: ({ event }) => html`<code>${event}</code>` },
      { title: 'Attempt', numeric: true, cell: ({ attempt }) => attempt },
      { title: 'Status', cell: status },
      { title: 'Duration', numeric: true, cell: ({ durationMs }) => duration(durationMs) },
      { title: 'Response', cell: responseOf },
    ],
    attempts,
  );

function secrets(viewer: Viewer, path: string, { rotationEndsAt }: WebhookRow): Html {
  const isPending = rotationEndsAt !== null;
  const force = choice({
    name: 'force',
    value: 'true',
    label: 'Replace the pending secret',
    checked: false,
  });
  return html`<h3>Signing secret</h3>
${
  isPending
    ? html`<p>A new secret is pending: both secrets sign deliveries until ${moment(rotationEndsAt)}, then only the new one. Activate
it earlier once your receiver has it.</p>`
    : html`<p class="quiet">After a rotation both secrets sign deliveries for 24 hours, or until you activate the new
one.</p>`
}
<div class="actions">${isPending ? actionButton(viewer, `${path}/activate`, 'Activate the new secret') : null}
${confirmation({
  action: `${path}/rotate`,
  viewer,
  label: 'Rotate the secret',
  text: 'A new secret is created and shown once.',
  ...(isPending && { extra: force }),
})}</div>`;
}

/** Explains why an endpoint is disabled, with a button to enable it; null for an active endpoint. */
function pause(viewer: Viewer, webhook: WebhookRow): Html | null {
  if (webhook.state === 'active') return null;
  // Consecutive failures are the only automatic reason; otherwise an operator disabled the endpoint.
  const why =
    webhook.consecutiveFailures < MAX_FAILURES
      ? html`the operator disabled the endpoint. Ask the operator before you enable it again.`
      : html`${failuresOf(webhook)} consecutive attempts failed. Repair the receiver, then enable the endpoint; the
count restarts at 0.`;
  return html`<p>No deliveries since ${moment(webhook.disabledAt)}: ${why}</p>
${actionButton(viewer, `${webhookPath(webhook)}/enable`, 'Enable')}`;
}

/** An endpoint: state, attempts and actions. */
export function webhookPage({
  viewer,
  webhook,
  attempts,
  cursor,
  draft,
  failure,
  done,
}: WebhookPage): string {
  const path = webhookPath(webhook);
  return layout({
    title: 'Webhook endpoint',
    menu: { viewer, section: 'Webhooks' },
    main: html`${alert(failure ?? null, WEBHOOK_LABELS)}${done ? doneNotice(done) : null}
<dl class="facts">
<div><dt>Address</dt> <dd>${typed(webhook.url)}</dd></div>
<div><dt>State</dt> <dd>${stateBadge(webhook)}</dd></div>
<div><dt>Consecutive failures</dt> <dd>${failuresOf(webhook)}</dd></div>
<div><dt>Events</dt> <dd>${webhook.events.join(', ')}</dd></div>
<div><dt>Created</dt> <dd>${moment(webhook.createdAt)}</dd></div>
</dl>
${pause(viewer, webhook)}
${
  webhook.state === 'active'
    ? html`<div class="actions">${actionButton(viewer, `${path}/test`, 'Send test')}</div>`
    : null
}
<h2 id="attempts">Attempts</h2>
${
  attempts.items.length === 0
    ? empty(html`<p>No deliveries yet. Select <em>Send test</em> to check that your server responds.</p>`)
    : attemptTable(attempts.items)
}
${pager({ path, query: {}, cursor, nextCursor: attempts.nextCursor })}
<h2>Manage</h2>
<h3>Resend</h3>
${postForm({
  action: `${path}/resend`,
  viewer,
  content: html`${selectField({
    name: 'hours',
    label: 'Failed and held deliveries of events from',
    value: '24',
    options: RESEND_HOURS,
    failure: failure ?? null,
  })}
<button class="plain">Resend</button>`,
})}
<h3>Address and events</h3>
${postForm({
  action: `${path}/change`,
  viewer,
  content: html`${webhookFields(draft, failure ?? null)}
<button class="plain">Save</button>`,
})}
${secrets(viewer, path, webhook)}
<h3>Delete</h3>
${confirmation({
  action: `${path}/delete`,
  viewer,
  label: 'Delete the endpoint',
  text: 'Deliveries stop; undelivered events are marked failed.',
})}`,
  });
}
