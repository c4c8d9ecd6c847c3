import { randomUUID } from 'node:crypto';
import { EVENT_KINDS } from '../../../schemas/events.ts';
import {
  type AttemptRow,
  type NewWebhookBody,
  newWebhookBody,
  type WebhookChangeBody,
  webhookChangeBody,
} from '../../../schemas/webhookRows.ts';
import { isDuplicate } from '../../../store/mongo.ts';
import type { Context } from '../../http/context.ts';
import { createValidator } from '../../http/validator.ts';
import type { Webhooks } from '../../webhooks/webhookService.ts';
import { referenceOf } from '../formReference.ts';
import { attempt, type Desk, goTo, type Submission, sendPage, type Visit } from '../pageRouter.ts';
import { type Done, RESEND_HOURS, webhookPage } from '../pages/webhookPage.ts';
import {
  WEBHOOKS_NEWS,
  WEBHOOKS_PATH,
  type WebhookDraft,
  type WebhooksNews,
  webhookPath,
  webhooksPage,
} from '../pages/webhooksPage.ts';
import { ALL_ENDPOINTS, pageOf, single } from '../query.ts';

interface Dependencies {
  webhooks: Webhooks;
}

const HOUR_MS = 3_600_000;
/** Tests come to every endpoint and are not chosen. */
const CHOICES = EVENT_KINDS.filter((kind) => kind !== 'webhook.test');
const ALL_EVENTS = { url: '', events: CHOICES };

const isNews = (text: string): text is WebhooksNews => Object.hasOwn(WEBHOOKS_NEWS, text);

const draftOf = (form: URLSearchParams): WebhookDraft => ({
  url: form.get('url') ?? '',
  events: form.getAll('events'),
});

/** Every choice ticked means every kind, also those to come. */
const wantsAll = ({ events }: WebhookDraft): boolean => CHOICES.every((kind) => events.includes(kind));

/** What was done, in the address of the page that says it; a secret never is. */
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

/** The other way round; an address that says anything else says nothing. */
function doneOf(ctx: Context, attempts: readonly AttemptRow[]): Done | null {
  const attempt = attempts.find(({ id }) => id === single(ctx, 'tested'));
  if (attempt !== undefined) return { kind: 'tested', attempt };
  const queued = single(ctx, 'resent');
  if (/^\d{1,9}$/.test(queued)) return { kind: 'resent', queued: Number(queued) };
  const kind = (['enabled', 'activated', 'changed'] as const).find((it) => it === single(ctx, 'done'));
  return kind === undefined ? null : { kind };
}

/** The forms for webhook endpoints: what they do is what the Account API does. */
export function webhookPages(desk: Desk, { webhooks }: Dependencies): void {
  const compile = createValidator();
  const validateNew = compile<NewWebhookBody>(newWebhookBody);
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
   * A form on an endpoint's page: what it did, or why not, stands on that page. It is another request, so that a reload
   * does nothing twice; only a secret is shown in the answer itself, since it is nowhere else.
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
      const kept = name === 'change' ? { draft: draftOf(form) } : {};
      await attempt(ctx, run, (failure) => one(submission, id, { failure, ...kept }));
    };
    desk.post(`${WEBHOOKS_PATH}/:id/${name}`, handle, onEndpoint);
  };

  desk.get(WEBHOOKS_PATH, async (visit) => {
    const done = single(visit.ctx, 'done');
    sendPage(visit.ctx, await list(visit, { news: isNews(done) ? done : null }));
  });

  desk.post(WEBHOOKS_PATH, async (visit) => {
    const { ctx, viewer, form } = visit;
    const draft = draftOf(form);
    const { url, events } = draft;
    const id = `whe_${referenceOf(form) ?? randomUUID()}`;
    const create = async () => {
      const body = validateNew({ url, ...(!wantsAll(draft) && { events }) });
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

  desk.get(`${WEBHOOKS_PATH}/:id`, async (visit) => sendPage(visit.ctx, await one(visit, visit.id)));

  action('test', async ({ viewer, id }) => {
    return { kind: 'tested', attempt: await webhooks.test(viewer.account._id, id, 'dashboard') };
  });

  action('enable', async ({ viewer, id }) => {
    await webhooks.enable(viewer.account._id, id);
    return { kind: 'enabled' };
  });

  action('rotate', async ({ viewer, id, form }) => {
    const { secret } = await webhooks.rotateSecret(viewer.account._id, id, form.get('force') === 'true');
    return { kind: 'rotated', secret };
  });

  action('activate', async ({ viewer, id }) => {
    await webhooks.activateSecret(viewer.account._id, id);
    return { kind: 'activated' };
  });

  action('resend', async ({ viewer, id, form }) => {
    const chosen = RESEND_HOURS.find(({ value }) => value === form.get('hours')) ?? RESEND_HOURS[0];
    const since = new Date(Date.now() - Number(chosen?.value ?? 1) * HOUR_MS).toISOString();
    const { queued } = await webhooks.resend(viewer.account._id, id, { since });
    return { kind: 'resent', queued };
  });

  action('change', async ({ viewer, id, form }) => {
    const draft = draftOf(form);
    const body = validateChange({ url: draft.url, events: wantsAll(draft) ? null : draft.events });
    await webhooks.change(viewer.account._id, id, body);
    return { kind: 'changed' };
  });

  const remove = async ({ ctx, viewer, id }: Submission) => {
    await webhooks.remove(viewer.account._id, id);
    goTo(ctx, `${WEBHOOKS_PATH}?done=deleted`);
  };
  desk.post(`${WEBHOOKS_PATH}/:id/delete`, remove, onEndpoint);
}
