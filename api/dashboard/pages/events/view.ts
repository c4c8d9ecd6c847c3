import {
  type DeliveryRow,
  delivery as deliverySchema,
  type EventRow,
  event as eventSchema,
} from '../../../../schemas/accountRows.ts';
import type { WebhookRow } from '../../../../schemas/webhookRows.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { RESEND_WITHIN_MS } from '../../../../store/webhooks/deliveries.ts';
import { alert, empty, type Failure, notice } from '../../components/alert.ts';
import { selectField } from '../../components/field.ts';
import { postForm } from '../../components/form.ts';
import { pager } from '../../components/pager.ts';
import { table } from '../../components/table.ts';
import { badge, count, moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { deliveryPath, TONES } from '../webhooks/deliveryView.ts';
import { WEBHOOKS_PATH, webhookPath } from '../webhooks/listView.ts';

export const EVENTS_PATH = '/dashboard/events';
export const RESEND_PATH = `${EVENTS_PATH}/resend`;

/** Values of the filter form; empty means any. */
export interface EventQuery {
  event: string;
  state: string;
}

interface EventsPage {
  viewer: Viewer;
  events: Page<EventRow>;
  /** The account's current endpoints. */
  endpoints: readonly WebhookRow[];
  cursor: string | undefined;
  query: EventQuery;
  now: Date;
  failure?: Failure;
  /** Number of deliveries that were just queued again. */
  resent?: number | null;
}

const LABELS = { event: 'Event', state: 'Delivery status' };

const asked = (query: EventQuery): Record<string, string> =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));

/** The URL of a page of events, or of an action on it. */
export function eventsHref(path: string, query: EventQuery, more: Record<string, string> = {}): string {
  const search = new URLSearchParams({ ...asked(query), ...more }).toString();
  return search === '' ? path : `${path}?${search}`;
}

function filterForm(query: EventQuery, failure: Failure | null): Html {
  const option = (value: string) => ({ value, label: value });
  const any = { value: '', label: 'any' };
  return html`<form class="filter" method="get" action="${EVENTS_PATH}">
${selectField({
  name: 'event',
  label: LABELS.event,
  value: query.event,
  options: [any, ...eventSchema.properties.event.enum.map(option)],
  failure,
})}
${selectField({
  name: 'state',
  label: LABELS.state,
  value: query.state,
  options: [any, ...deliverySchema.properties.state.enum.map(option)],
  failure,
})}
<button class="plain">Show</button>
</form>`;
}

/** The details of an event: its message if it has one, else its data without ids. */
const detailsOf = ({ data }: EventRow): Html | string =>
  typeof data.message === 'string'
    ? data.message
    : html`${Object.entries(data)
        .filter(([name]) => !name.endsWith('Id'))
        .map(
          ([name, value], index) =>
            html`${index === 0 ? '' : ', '}${name}: ${typeof value === 'number' ? number(value) : typed(String(value))}`,
        )}`;

function resendButton({ viewer, query, cursor }: EventsPage, event: EventRow, delivery: DeliveryRow): Html {
  const place = cursor === undefined ? {} : { cursor };
  return postForm({
    action: eventsHref(RESEND_PATH, query, place),
    viewer,
    kind: 'inline',
    content: html`<input type="hidden" name="endpointId" value="${delivery.endpointId}">
<input type="hidden" name="deliveryId" value="${delivery.id}">
<button class="plain">Resend <span class="unseen">${event.event}</span></button>`,
  });
}

/** The state of a delivery, with a link to its page unless the endpoint was deleted. */
function deliveryState(endpoint: WebhookRow | undefined, { id, state }: DeliveryRow): Html {
  const shown = badge(state, TONES[state]);
  return endpoint === undefined ? shown : html`<a href="${deliveryPath(endpoint, id)}">${shown}</a>`;
}

const nextAttempt = (at: string, now: Date): Html =>
  Date.parse(at) <= now.getTime() ? html`next attempt is due` : html`next ${moment(at)}`;

function deliveryItem(page: EventsPage, event: EventRow, delivery: DeliveryRow): Html {
  const { state, attempts, nextAt, endpointId } = delivery;
  const endpoint = page.endpoints.find(({ id }) => id === endpointId);
  const canResend =
    endpoint?.state === 'active' &&
    state !== 'delivered' &&
    !event.test &&
    page.now.getTime() - Date.parse(event.createdAt) < RESEND_WITHIN_MS;
  return html`<li>${
    endpoint === undefined
      ? html`<span class="quiet">deleted endpoint</span>`
      : html`<a href="${webhookPath(endpoint)}#attempts">${typed(endpoint.url)}</a>`
  }
<span>${deliveryState(endpoint, delivery)} ${count(attempts, 'attempt')}${
    nextAt === null ? null : html`, ${nextAttempt(nextAt, page.now)}`
  }${endpoint?.state === 'disabled' ? html`, the endpoint is disabled` : null}</span>
${canResend ? resendButton(page, event, delivery) : null}</li>
`;
}

function deliveriesOf(page: EventsPage, event: EventRow): Html {
  if (event.deliveries.length === 0) return html`<span class="quiet">no endpoint subscribed</span>`;
  return html`<ul class="deliveries">
${event.deliveries.map((delivery) => deliveryItem(page, event, delivery))}</ul>`;
}

const eventTable = (page: EventsPage): Html =>
  table<EventRow>(
    'Events, newest first',
    [
      { title: 'When', cell: ({ createdAt }) => moment(createdAt) },
      {
        title: 'Event',
        cell: ({ event, test }) =>
          html`<code>${event}</code>${test && event !== 'webhook.test' ? html` ${badge('test')}` : null}`,
      },
      { title: 'Details', cell: detailsOf },
      { title: 'Deliveries', cell: (event) => deliveriesOf(page, event) },
    ],
    page.events.items,
  );

function resentNotice(queued: number): Html {
  return queued === 0
    ? notice(html`<p>Nothing was resent: an attempt is already running.</p>`)
    : notice(html`<p>${count(queued, 'delivery was', 'deliveries were')} queued again.</p>`);
}

/** The events of an account and their deliveries. */
export function eventsPage(page: EventsPage): string {
  const { viewer, events, cursor, query, failure = null, resent = null } = page;
  const nothing =
    Object.keys(asked(query)).length > 0
      ? html`<p>No events match. <a href="${EVENTS_PATH}">Show all events</a>.</p>`
      : html`<p>There are no events yet. An event is recorded when a <a href="/dashboard/keys">key</a> is created, or when
credits are added or run low. <a href="${WEBHOOKS_PATH}">Add a webhook endpoint</a> to receive events.</p>`;
  return layout({
    title: 'Events',
    menu: { viewer, section: 'Events' },
    main: html`${alert(failure, LABELS)}${resent === null ? null : resentNotice(resent)}
${filterForm(query, failure)}
${events.items.length === 0 ? empty(nothing) : eventTable(page)}
${pager({ path: EVENTS_PATH, query: asked(query), cursor, nextCursor: events.nextCursor })}`,
  });
}
