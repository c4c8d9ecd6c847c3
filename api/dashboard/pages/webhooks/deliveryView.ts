import type { DeliveryRow } from '../../../../schemas/accountRows.ts';
import { EVENTS, isTestEvent } from '../../../../schemas/events.ts';
import type { AttemptRow, WebhookRow } from '../../../../schemas/webhookRows.ts';
import { RESEND_WITHIN_MS } from '../../../../store/webhooks/deliveries.ts';
import { eventBody } from '../../../../store/webhooks/events.ts';
import type { EventDoc } from '../../../../store/webhooks/webhookDocs.ts';
import { alert, empty, type Failure, notice } from '../../components/alert.ts';
import { actionButton } from '../../components/form.ts';
import { code } from '../../components/tabs.ts';
import { badge, copyable, duration, number, preciseMoment, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { webhookPath } from './listView.ts';

export const deliveryPath = (webhook: Pick<WebhookRow, 'id'>, deliveryId: string): string =>
  `${webhookPath(webhook)}/deliveries/${encodeURIComponent(deliveryId)}`;

/** Colours of the states of deliveries. */
export const TONES = { delivered: 'good', failed: 'bad', held: 'bad', pending: 'plain' } as const;

/** Whether the receiver accepted the event. */
export const isSuccess = ({ statusCode }: Pick<AttemptRow, 'statusCode'>): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300;

export const attemptBadge = (attempt: Pick<AttemptRow, 'statusCode'>): Html =>
  badge(
    attempt.statusCode === null ? 'no response' : `${attempt.statusCode}`,
    isSuccess(attempt) ? 'good' : 'bad',
  );

const EXPLANATION = {
  delivered: 'The endpoint received the event.',
  failed: 'The endpoint did not receive the event, and no further attempt is scheduled.',
  held: 'Nothing is posted until the delivery is resent, because the endpoint is disabled or on localhost.',
  pending:
    'The next attempt is scheduled or running. Resend the delivery to make a scheduled attempt at once.',
} as const;

interface DeliveryPage {
  viewer: Viewer;
  webhook: WebhookRow;
  delivery: DeliveryRow;
  event: EventDoc;
  attempts: readonly AttemptRow[];
  now: Date;
  /** Number of deliveries that were just queued again. */
  resent?: number | null;
  failure?: Failure;
}

const isTest = ({ event: { _id, event } }: DeliveryPage): boolean => isTestEvent({ id: _id, event });

/** The button that sends the delivery again, or the reason why that is not possible. */
function resendOf(page: DeliveryPage): Html | null {
  const { viewer, webhook, delivery, event, now } = page;
  if (isTest(page))
    return html`<p class="quiet">A test is sent once. <a href="${webhookPath(webhook)}">Send another test</a> on the page of the
endpoint.</p>`;
  if (webhook.state === 'disabled')
    return html`<p class="quiet"><a href="${webhookPath(webhook)}">Enable the endpoint</a> to resend the delivery.</p>`;
  if (now.getTime() - event.createdAt.getTime() >= RESEND_WITHIN_MS)
    return html`<p class="quiet">Events that are more than 14 days old cannot be resent.</p>`;
  return html`<div class="actions">${actionButton(viewer, `${deliveryPath(webhook, delivery.id)}/resend`, 'Resend')}</div>`;
}

const headersOf = (headers: NonNullable<AttemptRow['requestHeaders']>): string =>
  headers.map(({ name, value }) => `${name}: ${value}`).join('\n');

function requestOf({ attempt, url, requestHeaders }: AttemptRow): Html {
  if (requestHeaders === null) return html`<p class="quiet">Requests are kept for 30 days.</p>`;
  return code(`Request headers of attempt ${attempt}`, `POST ${url ?? ''}\n${headersOf(requestHeaders)}`);
}

function responseOf({ attempt, statusCode, error, responseHeaders, responseBody }: AttemptRow): Html {
  if (statusCode === null) return html`<p>${error ?? 'There was no response.'}</p>`;
  if (responseBody === null && responseHeaders === null)
    return html`<p class="quiet">Responses are kept for 30 days.</p>`;
  const head = `HTTP status ${statusCode}\n${headersOf(responseHeaders ?? [])}`;
  return html`${code(`Response headers of attempt ${attempt}`, head)}${
    responseBody === null || responseBody === ''
      ? html`<p class="quiet">The response has no body.</p>`
      : code(`Response body of attempt ${attempt}`, responseBody)
  }`;
}

const attemptItem = (attempt: AttemptRow, isOpen: boolean): Html =>
  html`<details class="attempt wrapped" id="${attempt.id}"${isOpen ? html` open` : null}>
<summary>Attempt ${attempt.attempt} ${attemptBadge(attempt)} <span class="quiet">${preciseMoment(attempt.at)}, ${duration(attempt.durationMs)}</span></summary>
<h3>Request</h3>
${requestOf(attempt)}
<h3>Response</h3>
${responseOf(attempt)}
</details>
`;

const resentNotice = (queued: number): Html =>
  notice(
    queued === 0
      ? html`<p>Nothing was resent: an attempt is already running.</p>`
      : html`<p>The delivery was queued again. Reload this page to see the attempt.</p>`,
  );

/** The delivery of one event to one endpoint: payload, and request and response of each attempt. */
export function deliveryPage(page: DeliveryPage): string {
  const { viewer, webhook, delivery, event, attempts, resent = null, failure = null } = page;
  const { state, nextAt } = delivery;
  return layout({
    title: 'Delivery',
    menu: { viewer, section: 'Webhooks' },
    parent: { path: webhookPath(webhook), name: 'Webhook endpoint' },
    main: html`${alert(failure)}${resent === null ? null : resentNotice(resent)}
<p class="lead">${badge(state, TONES[state])} ${EXPLANATION[state]}</p>
<dl class="facts">
<div><dt>Event</dt> <dd><code>${event.event}</code>${isTest(page) ? html` ${badge('test')}` : null} <span class="quiet">${
      isTest(page) ? 'The data is an example; nothing has changed.' : EVENTS[event.event].summary
    }</span></dd></div>
<div><dt>Event id</dt> <dd>${copyable(event._id)}</dd></div>
<div><dt>Delivery id</dt> <dd>${copyable(delivery.id)}</dd></div>
<div><dt>Occurred</dt> <dd>${preciseMoment(event.createdAt.toISOString())}</dd></div>
<div><dt>Endpoint</dt> <dd><a href="${webhookPath(webhook)}">${typed(webhook.url)}</a></dd></div>
<div><dt>Attempts</dt> <dd>${number(delivery.attempts)}</dd></div>
${nextAt === null ? null : html`<div><dt>Next attempt</dt> <dd>${preciseMoment(nextAt)}</dd></div>`}
</dl>
${resendOf(page)}
<h2>Payload</h2>
<p class="quiet">The request body, byte for byte. It is the same on every attempt.</p>
<div class="wrapped">${code('Payload', eventBody(event))}</div>
<h2>Attempts, newest first</h2>
${
  attempts.length === 0
    ? empty(html`<p>There are no attempts yet.</p>`)
    : html`${attempts.map((attempt, index) => attemptItem(attempt, index === 0))}`
}
<p class="quiet">Each attempt has a new timestamp and new signatures. <code>Host</code> and <code>Content-Length</code> are sent as
well. The duration is the time to the end of the response headers. <a href="/docs/webhooks">How to verify signatures</a></p>`,
  });
}
