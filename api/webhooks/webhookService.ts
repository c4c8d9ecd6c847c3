import { randomUUID } from 'node:crypto';
import type { Guard } from '../../egress/guard.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { isLocalhost } from '../../schemas/formats/localhost.ts';
import type {
  AttemptRow,
  NewWebhookBody,
  ResendBody,
  WebhookChangeBody,
  WebhookRow,
} from '../../schemas/webhookRows.ts';
import type { TokenResult } from '../../store/buckets.ts';
import { RESEND_WITHIN_MS } from '../../store/deliveries.ts';
import type { DeliveryAttempts } from '../../store/deliveryAttempts.ts';
import type { Lists } from '../../store/lists.ts';
import type { Page, PageRequest } from '../../store/pages.ts';
import type { WebhookEndpoints } from '../../store/webhookEndpoints.ts';
import { attemptRow, webhookRow } from '../account/rows.ts';
import type { EndpointWorkflow } from './endpointWorkflow.ts';

/** What an owner does with webhook endpoints; the Account API and the dashboard both call this. */
export interface Webhooks {
  list(accountId: string, page: PageRequest): Promise<Page<WebhookRow>>;
  /**
   * @param id of the endpoint, where who asks wants it once however often it is asked for
   * @throws ServiceError invalid_input, limit_reached, target_refused, host_not_found, target_failed, target_timeout
   * @throws what `isDuplicate` recognises: there is an endpoint of this id
   */
  create(accountId: string, body: NewWebhookBody, id?: string): Promise<WebhookRow & { secret: string }>;
  get(accountId: string, id: string): Promise<WebhookRow>;
  /** @throws ServiceError as `create` */
  change(accountId: string, id: string, body: WebhookChangeBody): Promise<WebhookRow>;
  remove(accountId: string, id: string): Promise<void>;
  /**
   * Sends a test. @param from where the owner asks for it; each has a limit of its own, see `TESTS`
   * @throws ServiceError endpoint_disabled, pool_busy, rate_limited
   */
  test(accountId: string, id: string, from: keyof typeof TESTS): Promise<AttemptRow>;
  enable(accountId: string, id: string): Promise<WebhookRow>;
  /** @throws ServiceError rotation_pending */
  rotateSecret(accountId: string, id: string, force: boolean): Promise<{ secret: string }>;
  activateSecret(accountId: string, id: string): Promise<WebhookRow>;
  /** @throws ServiceError endpoint_disabled, invalid_input */
  resend(accountId: string, id: string, body: ResendBody): Promise<{ queued: number }>;
  attempts(accountId: string, id: string, page: PageRequest): Promise<Page<AttemptRow>>;
}

interface Dependencies {
  endpoints: WebhookEndpoints;
  attempts: DeliveryAttempts;
  lists: Lists;
  workflow: EndpointWorkflow;
  /** Lets `localhost` through beside what is public. */
  egress: Guard;
  /** Takes a token from a bucket that all API processes share; null lifts the limits. */
  takeToken: ((bucket: string, limit: RateLimit) => Promise<TokenResult>) | null;
  onError: (error: unknown) => void;
}

const LOOK_UP_MS = 10_000;
/** Tests that an account may send: ten a minute by the dashboard's button, 60 a minute (20 at once) by the Account API. */
const TESTS = {
  dashboard: { rate: 10 / 60, burst: 10 },
  api: { rate: 1, burst: 20 },
} as const satisfies Record<string, RateLimit>;
const POINTER = '/url';

/** Everything beside `localhost`, exactly that name, must be https and public. @throws ServiceError */
async function vetUrl(egress: Guard, url: string): Promise<void> {
  const target = egress.parseTarget(url, { kind: 'url', pointer: POINTER });
  if (target.url === null || (!target.url.secure && !isLocalhost(url)))
    throw invalidInput([{ pointer: POINTER, message: 'must be https (http is for localhost alone)' }]);
  // The exception is for the name as it stands: with a dot behind it, it is a single label like any other.
  if (target.host.kind === 'name' && target.host.name === 'localhost' && !isLocalhost(url))
    throw new ServiceError('target_refused');
  await egress.vet(target, {
    signal: AbortSignal.timeout(LOOK_UP_MS),
    deadline: Date.now() + LOOK_UP_MS,
  });
}

/** @throws ServiceError invalid_input: a leap second, of which JavaScript makes no date */
function since(text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw invalidInput([{ pointer: '/since', message: 'is no time' }]);
  return new Date(Math.max(ms, Date.now() - RESEND_WITHIN_MS)).toISOString();
}

export function createWebhooks(deps: Dependencies): Webhooks {
  const { endpoints, attempts, lists, workflow, egress, takeToken, onError } = deps;
  const get: Webhooks['get'] = async (accountId, id) => webhookRow(await endpoints.find(accountId, id));

  return {
    get,

    async list(accountId, page) {
      const { items, nextCursor } = await lists.webhooks(accountId, page);
      return { items: items.map(webhookRow), nextCursor };
    },

    async create(accountId, { url, events = null }, id) {
      await vetUrl(egress, url);
      const { row, secret } = await endpoints.create({
        accountId,
        url,
        events,
        ...(id !== undefined && { id }),
      });
      return { ...webhookRow(row), secret };
    },

    async change(accountId, id, { url, events }) {
      await endpoints.find(accountId, id);
      if (url !== undefined) await vetUrl(egress, url);
      const change = { ...(url !== undefined && { url }), ...(events !== undefined && { events }) };
      return webhookRow(await endpoints.change(accountId, id, change));
    },

    async remove(accountId, id) {
      await endpoints.remove(accountId, id);
      // Without this its deliveries would end when the sweeper looks.
      await workflow.wake(id).catch(onError);
    },

    async test(accountId, id, from) {
      await endpoints.find(accountId, id);
      const taken = await takeToken?.(`webhook-test:${from}:${accountId}`, TESTS[from]);
      if (taken?.allowed === false)
        throw new ServiceError('rate_limited', {
          detail: `At most ${Math.round(TESTS[from].rate * 60)} tests a minute.`,
          retryAfter: taken.retryAfterSeconds,
        });
      const attemptId = await workflow.test(id, randomUUID());
      const row = await attempts.find(attemptId);
      if (row === null) throw new ServiceError('not_found');
      return attemptRow(row, await attempts.bodies([attemptId]));
    },

    async enable(accountId, id) {
      await endpoints.find(accountId, id);
      await workflow.enable(id);
      return get(accountId, id);
    },

    rotateSecret: async (accountId, id, force) => ({
      secret: await endpoints.rotateSecret(accountId, id, force),
    }),

    activateSecret: async (accountId, id) => webhookRow(await endpoints.activateSecret(accountId, id)),

    async resend(accountId, id, body) {
      await endpoints.find(accountId, id);
      const { deliveryIds } = body;
      const wanted = deliveryIds === undefined ? { since: since(body.since ?? '') } : { deliveryIds };
      return { queued: await workflow.resend(id, wanted) };
    },

    async attempts(accountId, id, page) {
      await endpoints.find(accountId, id);
      const { items, nextCursor } = await lists.attempts(id, page);
      const bodies = await attempts.bodies(items.map(({ _id }) => _id));
      return { items: items.map((row) => attemptRow(row, bodies)), nextCursor };
    },
  };
}
