import { randomUUID } from 'node:crypto';
import { EVENT_KINDS } from '../../../../schemas/events.ts';
import {
  type AttemptRow,
  type NewWebhookBody,
  newWebhookBody,
  type TestBody,
  testBody,
  type WebhookChangeBody,
  webhookChangeBody,
} from '../../../../schemas/webhookRows.ts';
import { isDuplicate } from '../../../../store/mongo/mongo.ts';
import { actorOf } from '../../../auth/actor.ts';
import type { Context } from '../../../http/context.ts';
import { createValidator } from '../../../http/validator.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { referenceOf } from '../../frame/formValues.ts';
import { attempt, goTo, type Submission, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { ALL_ENDPOINTS, pageOf, resentOf, single } from '../../frame/query.ts';
import { deliveryRoutes } from './deliveryRoutes.ts';
import { type Done, RESEND_HOURS, webhookPage } from './endpointView.ts';
import {
  WEBHOOKS_NEWS,
  WEBHOOKS_PATH,
  type WebhookDraft,
  type WebhooksNews,
  webhookPath,
  webhooksPage,
} from './listView.ts';

const HOUR_MS = 3_600_000;
/** Kinds of event that can be selected. An endpoint receives its test events in any case. */
const CHOICES = EVENT_KINDS.filter((kind) => kind !== 'webhook.test');
const ALL_EVENTS = { url: '', events: CHOICES };

const isNews = (text: string): text is WebhooksNews => Object.hasOwn(WEBHOOKS_NEWS, text);

const draftOf = (form: URLSearchParams): WebhookDraft => ({
  url: form.get('url') ?? '',
  events: form.getAll('events'),
});

/** Selecting every kind also subscribes to kinds that are added later. */
const selectsAll = ({ events }: WebhookDraft): boolean => CHOICES.every((kind) => events.includes(kind));

/** Encodes the result of an action in the query of the redirect, which never contains secrets. */
function asQuery(done: Exclude<Done, { secret: string }>): Record<string, string> {
  switch (done.kind) {
    case 'tested':
      return { tested: done.attempt.id };
    case 'resent':
      return { resent: `${done.queued}` };
    default:
      return { done: done.kind };
  }
}

/** Decodes the result of an action from the query; null if it is absent or invalid. */
function doneOf(ctx: Context, attempts: readonly AttemptRow[]): Done | null {
  const attempt = attempts.find(({ id }) => id === single(ctx, 'tested'));
  if (attempt !== undefined) return { kind: 'tested', attempt };
  const queued = resentOf(ctx);
  if (queued !== null) return { kind: 'resent', queued };
  const kind = (['enabled', 'activated', 'changed'] as const).find((it) => it === single(ctx, 'done'));
  return kind === undefined ? null : { kind };
}

/** Registers the pages that manage webhook endpoints. */
export function webhooksRoutes(dashboard: Dashboard): void {
  const { pages, webhooks } = dashboard;
  deliveryRoutes(dashboard);
  const compile = createValidator();
  const validateNew = compile<NewWebhookBody>(newWebhookBody);
  const validateTest = compile<TestBody>(testBody);
  const validateChange = compile<WebhookChangeBody>(webhookChangeBody);

  async function list({ viewer }: Visit, more: Partial<Parameters<typeof webhooksPage>[0]> = {}) {
    const { items } = await webhooks.list(viewer.account._id, ALL_ENDPOINTS);
    const reference = randomUUID();
    return webhooksPage({ viewer, webhooks: items, draft: ALL_EVENTS, reference, ...more });
  }

  async function one(
    { ctx, viewer }: Visit,
    id: string,
    more: Partial<Parameters<typeof webhookPage>[0]> = {},
  ) {
    const page = pageOf(ctx);
    const [webhook, attempts] = await Promise.all([
      webhooks.get(viewer.account._id, id),
      webhooks.attempts(viewer.account._id, id, page),
    ]);
    const done = doneOf(ctx, attempts.items);
    return webhookPage({ viewer, webhook, attempts, cursor: page.cursor, draft: webhook, done, ...more });
  }

  const onEndpoint = { page: (id: string) => webhookPath({ id }) };

  /**
   * Registers a form of an endpoint's page. The result is shown after a redirect, so that a reload does not repeat the
   * action. Only a secret is shown in the response itself, because it is not stored in readable form.
   */
  const action = (name: string, act: (submission: Submission) => Promise<Done>) => {
    const handle = async (submission: Submission) => {
      const { ctx, viewer, id, form } = submission;
      await webhooks.get(viewer.account._id, id);
      const run = async () => {
        const done = await act(submission);
        if ('secret' in done) sendPage(ctx, await one(submission, id, { done }));
        else goTo(ctx, `${webhookPath({ id })}?${new URLSearchParams(asQuery(done))}`);
      };
      const entered = name === 'change' ? { draft: draftOf(form) } : {};
      await attempt(ctx, run, (failure) => one(submission, id, { failure, ...entered }));
    };
    pages.post(`${WEBHOOKS_PATH}/:id/${name}`, handle, onEndpoint);
  };

  pages.get(WEBHOOKS_PATH, async (visit) => {
    const done = single(visit.ctx, 'done');
    sendPage(visit.ctx, await list(visit, { news: isNews(done) ? done : null }));
  });

  pages.post(WEBHOOKS_PATH, async (visit) => {
    const { ctx, viewer, form } = visit;
    const draft = draftOf(form);
    const { url, events } = draft;
    const id = `whe_${referenceOf(form) ?? randomUUID()}`;
    const create = async () => {
      const body = validateNew({ url, ...(!selectsAll(draft) && { events }) });
      try {
        const { secret } = await webhooks.create(viewer.account._id, body, id);
        sendPage(ctx, await one(visit, id, { done: { kind: 'made', secret } }), 201);
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        goTo(ctx, `${WEBHOOKS_PATH}?done=again`);
      }
    };
    await attempt(ctx, create, (failure) => list(visit, { draft, failure }));
  });

  pages.get(`${WEBHOOKS_PATH}/:id`, async (visit) => sendPage(visit.ctx, await one(visit, visit.id)));

  action('test', async ({ viewer, id, form }) => {
    const kind = form.get('event');
    const { event } = validateTest(kind === null ? {} : { event: kind });
    return { kind: 'tested', attempt: await webhooks.test(viewer.account._id, id, event, 'dashboard') };
  });

  action('enable', async ({ viewer, id }) => {
    await webhooks.enable(viewer.account._id, id);
    return { kind: 'enabled' };
  });

  action('rotate', async ({ ctx, viewer, id, form }) => {
    const isForced = form.get('force') === 'true';
    const { secret } = await webhooks.rotateSecret(viewer.account._id, id, isForced, actorOf(ctx));
    return { kind: 'rotated', secret };
  });

  action('activate', async ({ ctx, viewer, id }) => {
    await webhooks.activateSecret(viewer.account._id, id, actorOf(ctx));
    return { kind: 'activated' };
  });

  action('resend', async ({ viewer, id, form }) => {
    const option = RESEND_HOURS.find(({ value }) => value === form.get('hours')) ?? RESEND_HOURS[0];
    const since = new Date(Date.now() - Number(option?.value ?? 1) * HOUR_MS).toISOString();
    const { queued } = await webhooks.resend(viewer.account._id, id, { since });
    return { kind: 'resent', queued };
  });

  action('change', async ({ viewer, id, form }) => {
    const draft = draftOf(form);
    const body = validateChange({ url: draft.url, events: selectsAll(draft) ? null : draft.events });
    await webhooks.change(viewer.account._id, id, body);
    return { kind: 'changed' };
  });

  const remove = async ({ ctx, viewer, id }: Submission) => {
    await webhooks.remove(viewer.account._id, id);
    goTo(ctx, `${WEBHOOKS_PATH}?done=deleted`);
  };
  pages.post(`${WEBHOOKS_PATH}/:id/delete`, remove, onEndpoint);
}
