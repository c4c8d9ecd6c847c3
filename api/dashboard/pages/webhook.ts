import { MAX_FAILURES } from '../../../schemas/webhookLimits.ts';
import type { AttemptRow, WebhookRow } from '../../../schemas/webhookRows.ts';
import type { Page } from '../../../store/pages.ts';
import { type Html, html } from '../../html.ts';
import { alert, empty, type Failure, notice } from '../components/alert.ts';
import { choice, selectField } from '../components/field.ts';
import { actionButton, confirmation, postForm } from '../components/form.ts';
import { pager } from '../components/pager.ts';
import { table } from '../components/table.ts';
import { badge, count, duration, moment, typed } from '../components/text.ts';
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
} from './webhooks.ts';

/** What was done to the endpoint just now. */
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

/** How far back deliveries can be sent again, in hours. */
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
      ? (error ?? 'There was no response.')
      : `Your server answered ${statusCode} in ${duration(durationMs)}.`;
  return isSuccess(attempt)
    ? notice(html`<p>The test arrived. ${answer}</p>`)
    : html`${alert({ message: `The test failed. ${answer}`, faults: [] })}`;
}

function said(done: Done): Html {
  switch (done.kind) {
    case 'made':
      return webhookSecret('The signing secret', done.secret);
    case 'rotated':
      return webhookSecret('The new signing secret', done.secret);
    case 'tested':
      return tested(done.attempt);
    case 'resent':
      return notice(html`<p>${count(done.queued, 'delivery is', 'deliveries are')} queued again.</p>`);
    case 'enabled':
      return notice(html`<p>The endpoint is enabled. What was held can be resent below.</p>`);
    case 'activated':
      return notice(html`<p>The newest secret alone signs from now on.</p>`);
    case 'changed':
      return notice(html`<p>The endpoint is changed.</p>`);
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
      { title: 'Took', numeric: true, cell: ({ durationMs }) => duration(durationMs) },
      { title: 'Response', cell: responseOf },
    ],
    attempts,
  );

function secrets(viewer: Viewer, path: string, { rotationEndsAt }: WebhookRow): Html {
  const waits = rotationEndsAt !== null;
  const force = choice({
    name: 'force',
    value: 'true',
    label: 'Replace the new secret that waits',
    checked: false,
  });
  return html`<h3>Signing secret</h3>
${
  waits
    ? html`<p>A new secret waits: both sign until ${moment(rotationEndsAt)}, then the new one alone. Once your receiver
has it, you need not wait.</p>`
    : html`<p class="quiet">After a rotation both secrets sign for 24 hours, or until you say that your receiver has the
new one.</p>`
}
<div class="actions">${waits ? actionButton(viewer, `${path}/activate`, 'Use the new secret alone') : null}
${confirmation({
  action: `${path}/rotate`,
  viewer,
  label: 'Rotate the secret',
  text: 'A new secret is made and shown once.',
  ...(waits && { extra: force }),
})}</div>`;
}

/** Why nothing is posted, and the way back; null for an endpoint that is active. */
function pause(viewer: Viewer, webhook: WebhookRow): Html | null {
  if (webhook.state === 'active') return null;
  // Only failures in a row disable an endpoint by themselves.
  const why =
    webhook.consecutiveFailures < MAX_FAILURES
      ? html`the operator has disabled the endpoint. Ask them why before you enable it again.`
      : html`${failuresOf(webhook)} attempts in a row failed. Repair the receiver, then enable the endpoint; it starts
from 0.`;
  return html`<p>Nothing is posted since ${moment(webhook.disabledAt)}: ${why}</p>
${actionButton(viewer, `${webhookPath(webhook)}/enable`, 'Enable')}`;
}

/** One endpoint: its state, its attempts, and all that can be done with it. */
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
    main: html`${alert(failure ?? null, WEBHOOK_LABELS)}${done ? said(done) : null}
<dl class="facts">
<div><dt>Address</dt> <dd>${typed(webhook.url)}</dd></div>
<div><dt>State</dt> <dd>${stateBadge(webhook)}</dd></div>
<div><dt>Failures in a row</dt> <dd>${failuresOf(webhook)}</dd></div>
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
    ? empty(
        html`<p>Nothing was posted here yet. Press <em>Send test</em> to see whether your server answers.</p>`,
      )
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
    label: 'Failed and held deliveries of events of',
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
  text: 'Nothing is posted to it any more; what was still to be delivered has failed then.',
})}`,
  });
}
