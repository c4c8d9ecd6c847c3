import { EVENT_KINDS, isTestEvent } from '../../../../schemas/events.ts';
import { MAX_FAILURES } from '../../../../schemas/webhookLimits.ts';
import type { AttemptRow, WebhookRow } from '../../../../schemas/webhookRows.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { alert, empty, type Failure, notice } from '../../components/alert.ts';
import { choice, selectField } from '../../components/field.ts';
import { actionButton, confirmation, postForm } from '../../components/form.ts';
import { pager } from '../../components/pager.ts';
import { table } from '../../components/table.ts';
import { badge, copyable, count, duration, moment, preciseMoment, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { attemptBadge, deliveryPath, isSuccess } from './deliveryView.ts';
import {
  failuresOf,
  stateBadge,
  WEBHOOK_LABELS,
  WEBHOOKS_PATH,
  type WebhookDraft,
  webhookFields,
  webhookPath,
  webhookSecret,
} from './listView.ts';

const DEFAULT_TEST = 'webhook.test';

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

/** Kinds of test events, the default first. */
const TEST_KINDS = [DEFAULT_TEST, ...EVENT_KINDS.filter((kind) => kind !== DEFAULT_TEST)];

/** Periods that can be resent, in hours. */
export const RESEND_HOURS = [
  { value: '1', label: 'the last hour' },
  { value: '24', label: 'the last day' },
  { value: '72', label: 'the last 3 days' },
  { value: '336', label: 'the last 14 days' },
];

/** Characters of a response's body that the table of attempts shows. */
const SHOWN_CHARACTERS = 40;

const responseOf = ({ error, responseBody }: AttemptRow): Html => {
  if (error !== null) return html`${error}`;
  if (responseBody === null) return html`<span class="quiet">no longer kept</span>`;
  if (responseBody === '') return html`<span class="quiet">empty</span>`;
  const characters = [...responseBody];
  if (characters.length <= SHOWN_CHARACTERS) return html`<code>${typed(responseBody)}</code>`;
  return html`<details><summary><code>${typed(characters.slice(0, SHOWN_CHARACTERS).join(''))}…</code></summary>
<pre tabindex="0">${responseBody}</pre>
</details>`;
};

function tested(webhook: WebhookRow, attempt: AttemptRow): Html {
  const { statusCode, durationMs, error } = attempt;
  const answer =
    statusCode === null
      ? (error ?? 'The server did not respond.')
      : `Your server answered ${statusCode} in ${duration(durationMs)}.`;
  const details = html`<p><a href="${deliveryPath(webhook, attempt.deliveryId)}">Show request and response</a></p>`;
  return isSuccess(attempt)
    ? notice(html`<p>The test was delivered. ${answer}</p>${details}`)
    : html`${alert({ message: `The test failed. ${answer}`, faults: [] })}${details}`;
}

function doneNotice(webhook: WebhookRow, done: Done): Html {
  switch (done.kind) {
    case 'made':
      return webhookSecret('The signing secret', done.secret);
    case 'rotated':
      return webhookSecret('The new signing secret', done.secret);
    case 'tested':
      return tested(webhook, done.attempt);
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

/** The kind of an attempt's event. */
const eventOf = ({ event, eventId }: AttemptRow): Html =>
  html`<code>${event}</code>${event !== 'webhook.test' && isTestEvent({ id: eventId, event }) ? html` ${badge('test')}` : null}`;

const attemptTable = (webhook: WebhookRow, attempts: readonly AttemptRow[]): Html =>
  table<AttemptRow>(
    'Attempts, newest first',
    [
      {
        title: 'When',
        cell: ({ at, id, deliveryId }) =>
          html`<a href="${deliveryPath(webhook, deliveryId)}#${id}">${preciseMoment(at)}</a>`,
      },
      { title: 'Event', cell: eventOf },
      { title: 'Attempt', numeric: true, cell: ({ attempt }) => attempt },
      { title: 'Status', cell: attemptBadge },
      { title: 'Duration', numeric: true, cell: ({ durationMs }) => duration(durationMs) },
      { title: 'Response', cell: responseOf },
    ],
    attempts,
    { isNamed: true, isCompact: true },
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
    : html`<p class="quiet">For 24 hours after a rotation, or until you activate the new secret, <code>webhook-signature</code> has the signatures
of both secrets, and <code>X-Service-Signature</code> that of the old one.</p>`
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
      ? html`the operator disabled the endpoint. Enable it again only when you know why.`
      : html`${failuresOf(webhook)} consecutive attempts failed. Repair the receiver, then enable the endpoint; the
count restarts at 0.`;
  return html`<p>No deliveries since ${moment(webhook.disabledAt)}: ${why}</p>
${actionButton(viewer, `${webhookPath(webhook)}/enable`, 'Enable')}`;
}

/** The form that sends a test event. */
const testForm = (viewer: Viewer, path: string, kind: string, failure: Failure | null): Html =>
  postForm({
    action: `${path}/test`,
    viewer,
    kind: 'filter',
    content: html`${selectField({
      name: 'event',
      label: WEBHOOK_LABELS.event,
      value: kind,
      options: TEST_KINDS.map((value) => ({ value, label: value })),
      failure,
    })}
<button class="plain">Send test</button>`,
  });

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
    parent: { path: WEBHOOKS_PATH, name: 'Webhooks' },
    main: html`${alert(failure ?? null, WEBHOOK_LABELS)}${done ? doneNotice(webhook, done) : null}
<dl class="facts">
<div><dt>Address</dt> <dd>${typed(webhook.url)}</dd></div>
<div><dt>State</dt> <dd>${stateBadge(webhook)}</dd></div>
<div><dt>Consecutive failures</dt> <dd>${failuresOf(webhook)}</dd></div>
<div><dt>Events</dt> <dd>${webhook.events.map((event, index) => html`${index === 0 ? null : ', '}<code>${event}</code>`)}</dd></div>
<div><dt>Created</dt> <dd>${moment(webhook.createdAt)}</dd></div>
<div><dt>Endpoint id</dt> <dd>${copyable(webhook.id)}</dd></div>
</dl>
${pause(viewer, webhook)}
${
  webhook.state === 'active'
    ? testForm(viewer, path, done?.kind === 'tested' ? done.attempt.event : DEFAULT_TEST, failure ?? null)
    : null
}
<h2 id="attempts">Attempts</h2>
${
  attempts.items.length === 0
    ? empty(html`<p>No deliveries yet. Select <em>Send test</em> to check that your server responds.</p>`)
    : attemptTable(webhook, attempts.items)
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
<button>Save</button>`,
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
