import { EVENT_KINDS, EVENTS } from '../../../../schemas/events.ts';
import { MAX_FAILURES } from '../../../../schemas/webhookLimits.ts';
import type { WebhookRow } from '../../../../schemas/webhookRows.ts';
import { alert, empty, type Failure, notice } from '../../components/alert.ts';
import { choice, choices, inputField } from '../../components/field.ts';
import { actionButton, postForm, referenceField } from '../../components/form.ts';
import { secret } from '../../components/secret.ts';
import { table } from '../../components/table.ts';
import { badge, moment, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';

export const WEBHOOKS_PATH = '/dashboard/webhooks';

export const webhookPath = ({ id }: Pick<WebhookRow, 'id'>): string =>
  `${WEBHOOKS_PATH}/${encodeURIComponent(id)}`;

/** Values of an endpoint's form. */
export interface WebhookDraft {
  url: string;
  events: readonly string[];
}

export const stateBadge = ({ state }: WebhookRow): Html => badge(state, state === 'active' ? 'good' : 'bad');

export const failuresOf = ({ consecutiveFailures }: WebhookRow): string =>
  `${consecutiveFailures} of ${MAX_FAILURES}`;

/** A signing secret, shown once, with instructions. */
export const webhookSecret = (title: string, value: string): Html =>
  secret({
    title,
    value,
    advice: html`<p><strong>Copy it now:</strong> it will not be shown again. Your receiver uses it to verify the signature of each
delivery.</p>`,
  });

export const WEBHOOK_LABELS = { url: 'Address', events: 'Events', event: 'Event' };

/** Form fields of an endpoint: URL and events. */
export const webhookFields = (draft: WebhookDraft, failure: Failure | null): Html =>
  html`${inputField({
    name: 'url',
    label: WEBHOOK_LABELS.url,
    type: 'url',
    value: draft.url,
    hint: 'An https URL, or http://localhost for local testing.',
    attributes: {
      required: '',
      maxlength: 2048,
      autocomplete: 'off',
      placeholder: 'https://example.com/hook',
    },
    failure,
  })}
${choices(
  { name: 'events', label: WEBHOOK_LABELS.events, failure },
  EVENT_KINDS.filter((kind) => kind !== 'webhook.test').map((kind) =>
    choice({
      name: 'events',
      id: `event-${kind}`,
      value: kind,
      label: html`<code>${kind}</code> <span class="quiet">${EVENTS[kind].summary}</span>`,
      checked: draft.events.includes(kind),
    }),
  ),
)}`;

interface WebhooksPage {
  viewer: Viewer;
  webhooks: readonly WebhookRow[];
  draft: WebhookDraft;
  /** Idempotency reference, generated for each page: sending the form twice adds one endpoint. */
  reference: string;
  failure?: Failure;
  news?: WebhooksNews | null;
}

/** Messages after a redirect, by the action that was performed. `again`: the form for a new endpoint was submitted twice. */
export const WEBHOOKS_NEWS = {
  deleted: 'The endpoint was deleted.',
  again:
    'This form was sent twice; the endpoint was added once. Its signing secret is shown only once: if you did not copy it, rotate it on the page of the endpoint.',
} as const;
export type WebhooksNews = keyof typeof WEBHOOKS_NEWS;

/** State of the signing secret. */
const secretOf = (viewer: Viewer, row: WebhookRow): Html | null =>
  row.rotationEndsAt === null
    ? null
    : html`${badge('new secret pending')} until ${moment(row.rotationEndsAt)}
${actionButton(viewer, `${webhookPath(row)}/activate`, 'Activate')}`;

const endpointTable = (viewer: Viewer, webhooks: readonly WebhookRow[]): Html =>
  table<WebhookRow>(
    'Endpoints, newest first',
    [
      { title: 'Address', cell: (row) => html`<a href="${webhookPath(row)}">${typed(row.url)}</a>` },
      { title: 'State', cell: stateBadge },
      { title: 'Consecutive failures', cell: failuresOf },
      ...(webhooks.some(({ rotationEndsAt }) => rotationEndsAt !== null)
        ? [{ title: 'Secret', cell: (row: WebhookRow) => secretOf(viewer, row) }]
        : []),
      { title: 'Created', cell: ({ createdAt }) => moment(createdAt) },
    ],
    webhooks,
  );

/** The endpoints of an account, with a form to add one. */
export const webhooksPage = ({
  viewer,
  webhooks,
  draft,
  reference,
  failure,
  news = null,
}: WebhooksPage): string =>
  layout({
    title: 'Webhooks',
    menu: { viewer, section: 'Webhooks' },
    main: html`${alert(failure ?? null, WEBHOOK_LABELS)}${news === null ? null : notice(html`<p>${WEBHOOKS_NEWS[news]}</p>`)}
${
  webhooks.length === 0
    ? empty(html`<p>There are no endpoints yet. Add one below to notify your server when credits run low or a key is
created.</p>`)
    : endpointTable(viewer, webhooks)
}
<h2>New endpoint</h2>
${postForm({
  action: WEBHOOKS_PATH,
  viewer,
  content: html`${referenceField(reference)}
${webhookFields(draft, failure ?? null)}
<button>Add endpoint</button>`,
})}`,
  });
