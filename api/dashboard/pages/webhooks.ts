import { EVENT_KINDS, EVENTS } from '../../../schemas/events.ts';
import { MAX_FAILURES } from '../../../schemas/webhookLimits.ts';
import type { WebhookRow } from '../../../schemas/webhookRows.ts';
import { type Html, html } from '../../html.ts';
import { alert, empty, type Failure, notice } from '../components/alert.ts';
import { choice, choices, inputField } from '../components/field.ts';
import { actionButton, postForm, referenceField } from '../components/form.ts';
import { secret } from '../components/secret.ts';
import { table } from '../components/table.ts';
import { badge, moment, typed } from '../components/text.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

export const WEBHOOKS_PATH = '/dashboard/webhooks';

export const webhookPath = ({ id }: Pick<WebhookRow, 'id'>): string =>
  `${WEBHOOKS_PATH}/${encodeURIComponent(id)}`;

/** What a form for an endpoint says. */
export interface WebhookDraft {
  url: string;
  events: readonly string[];
}

export const stateBadge = ({ state }: WebhookRow): Html => badge(state, state === 'active' ? 'good' : 'bad');

export const failuresOf = ({ consecutiveFailures }: WebhookRow): string =>
  `${consecutiveFailures} of ${MAX_FAILURES}`;

/** A secret that is shown this once, and what to do with it. */
export const webhookSecret = (title: string, value: string): Html =>
  secret({
    title,
    value,
    advice: html`<p><strong>Copy it now:</strong> it is not shown again. Your receiver checks the signature of each
delivery with it.</p>`,
  });

export const WEBHOOK_LABELS = { url: 'Address', events: 'Events' };

/** Where to post, and what. */
export const webhookFields = (draft: WebhookDraft, failure: Failure | null): Html =>
  html`${inputField({
    name: 'url',
    label: WEBHOOK_LABELS.url,
    type: 'url',
    value: draft.url,
    hint: 'https, or http://localhost to try it on your machine.',
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
  /** New on every page: a form that is sent twice is one endpoint. */
  reference: string;
  failure?: Failure;
  news?: WebhooksNews | null;
}

/** What was done just now; `again`: the form for a new endpoint was sent a second time. */
export const WEBHOOKS_NEWS = {
  deleted: 'The endpoint is deleted.',
  again:
    'This form has added its endpoint already, and a signing secret is shown once only. If you have not kept it, rotate it on the page of the endpoint.',
} as const;
export type WebhooksNews = keyof typeof WEBHOOKS_NEWS;

/** What there is to say of the signing secret: usually nothing. */
const secretOf = (viewer: Viewer, row: WebhookRow): Html =>
  row.rotationEndsAt === null
    ? html`<span class="quiet">current</span>`
    : html`${badge('a new one waits')} until ${moment(row.rotationEndsAt)}
${actionButton(viewer, `${webhookPath(row)}/activate`, 'Use it alone')}`;

const endpointTable = (viewer: Viewer, webhooks: readonly WebhookRow[]): Html =>
  table<WebhookRow>(
    'Endpoints, newest first',
    [
      { title: 'Address', cell: (row) => html`<a href="${webhookPath(row)}">${typed(row.url)}</a>` },
      { title: 'State', cell: stateBadge },
      { title: 'Failures in a row', cell: failuresOf },
      { title: 'Secret', cell: (row) => secretOf(viewer, row) },
      { title: 'Created', cell: ({ createdAt }) => moment(createdAt) },
    ],
    webhooks,
  );

/** The endpoints of an account, and the form for one more. */
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
    ? empty(html`<p>Nothing is posted anywhere yet. Add an endpoint below, and a server of yours hears at once when
credits run low or a key is made.</p>`)
    : endpointTable(viewer, webhooks)
}
<h2>New endpoint</h2>
${postForm({
  action: WEBHOOKS_PATH,
  viewer,
  content: html`${referenceField(reference)}
${webhookFields(draft, failure ?? null)}
<button>Add the endpoint</button>`,
})}`,
  });
