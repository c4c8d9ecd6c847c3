import { randomUUID } from 'node:crypto';
import type { Guard } from '../../egress/guard.ts';
import type { DeliveryRow } from '../../schemas/accountRows.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import type { EventKind } from '../../schemas/events.ts';
import type {
  AttemptRow,
  NewWebhookBody,
  ResendBody,
  WebhookChangeBody,
  WebhookRow,
} from '../../schemas/webhookRows.ts';
import type { Lists } from '../../store/accounts/lists.ts';
import type { Actor } from '../../store/accounts/securityLog.ts';
import type { TokenResult } from '../../store/keys/buckets.ts';
import type { Page, PageRequest } from '../../store/mongo/pages.ts';
import { RESEND_WITHIN_MS } from '../../store/webhooks/deliveries.ts';
import type { DeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import type { DeliveryAttemptDoc, EventDoc } from '../../store/webhooks/webhookDocs.ts';
import type { WebhookEndpoints } from '../../store/webhooks/webhookEndpoints.ts';
import { attemptRow, deliveryRow, webhookRow } from '../account/rows.ts';
import type { EndpointWorkflow } from './endpointWorkflow.ts';
import { checkReceiverUrl } from './receiverUrl.ts';
import type { ResendLimit } from './resendLimit.ts';

/** Operations on webhook endpoints, shared by the Account API and the dashboard. */
export interface Webhooks {
  list(accountId: string, page: PageRequest): Promise<Page<WebhookRow>>;
  /**
   * @param id id of the new endpoint, which makes the creation idempotent. Default: a new random id
   * @throws ServiceError invalid_input, limit_reached, target_refused, host_not_found, target_failed, target_timeout
   * @throws a duplicate key error (`isDuplicate`) if an endpoint with this id exists
   */
  create(accountId: string, body: NewWebhookBody, id?: string): Promise<WebhookRow & { secret: string }>;
  get(accountId: string, id: string): Promise<WebhookRow>;
  /** @throws ServiceError as `create` */
  change(accountId: string, id: string, body: WebhookChangeBody): Promise<WebhookRow>;
  remove(accountId: string, id: string): Promise<void>;
  /** Tells the workflows of deleted endpoints that their remaining deliveries have failed. */
  wakeDeleted(ids: readonly string[]): Promise<void>;
  /**
   * Sends a test event of this kind. @param from where the request comes from; the limit depends on it, see `TEST_LIMITS`
   * @throws ServiceError endpoint_disabled, pool_busy, rate_limited
   */
  test(accountId: string, id: string, kind: EventKind, from: keyof typeof TEST_LIMITS): Promise<AttemptRow>;
  enable(accountId: string, id: string): Promise<WebhookRow>;
  /** @throws ServiceError rotation_pending */
  rotateSecret(accountId: string, id: string, force: boolean, actor: Actor): Promise<{ secret: string }>;
  activateSecret(accountId: string, id: string, actor: Actor): Promise<WebhookRow>;
  /** Queues as many deliveries as the account may still resend. @throws ServiceError endpoint_disabled, invalid_input, rate_limited */
  resend(accountId: string, id: string, body: ResendBody): Promise<{ queued: number }>;
  attempts(accountId: string, id: string, page: PageRequest): Promise<Page<AttemptRow>>;
  /** Returns a delivery to the endpoint, with its payload and its newest attempts. @throws ServiceError not_found */
  delivery(accountId: string, id: string, deliveryId: string): Promise<DeliveryDetails>;
}

interface DeliveryDetails {
  delivery: DeliveryRow;
  event: EventDoc;
  /** Newest first, at most `SHOWN_ATTEMPTS`. */
  attempts: AttemptRow[];
}

interface Dependencies {
  endpoints: WebhookEndpoints;
  attempts: DeliveryAttempts;
  lists: Lists;
  workflow: EndpointWorkflow;
  resendLimit: ResendLimit;
  /** Egress guard that permits public addresses and `localhost`. */
  egress: Guard;
  /** Takes a token from a bucket that all API processes share; null: the limits are disabled. */
  takeToken: ((bucket: string, limit: RateLimit) => Promise<TokenResult>) | null;
  onError: (error: unknown) => void;
}

/** Attempts that are shown with a delivery: those of several resends. */
const SHOWN_ATTEMPTS = 50;
/**
 * Rate limits of test events per account: 10 per minute from the dashboard, and 60 per minute in bursts of at most 20
 * from the Account API.
 */
const TEST_LIMITS = {
  dashboard: { rate: 10 / 60, burst: 10 },
  api: { rate: 1, burst: 20 },
} as const satisfies Record<string, RateLimit>;
const POINTER = '/url';

/**
 * Parses a date-time. @throws ServiceError invalid_input for a leap second, which the schema accepts but `Date` does
 * not
 */
function parseSince(text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw invalidInput([{ pointer: '/since', message: 'is not a valid time' }]);
  return new Date(Math.max(ms, Date.now() - RESEND_WITHIN_MS)).toISOString();
}

export function createWebhooks(deps: Dependencies): Webhooks {
  const { endpoints, attempts, lists, workflow, resendLimit, egress, takeToken, onError } = deps;
  const asRows = async (docs: readonly DeliveryAttemptDoc[]): Promise<AttemptRow[]> => {
    const contents = await attempts.contents(docs.map(({ _id }) => _id));
    return docs.map((attempt) => attemptRow(attempt, contents.get(attempt._id)));
  };
  const get: Webhooks['get'] = async (accountId, id) => webhookRow(await endpoints.find(accountId, id));

  return {
    get,

    async list(accountId, page) {
      const { items, nextCursor } = await lists.webhooks(accountId, page);
      return { items: items.map(webhookRow), nextCursor };
    },

    async create(accountId, { url, events = null }, id) {
      await checkReceiverUrl(egress, url, POINTER);
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
      if (url !== undefined) await checkReceiverUrl(egress, url, POINTER);
      const change = { ...(url !== undefined && { url }), ...(events !== undefined && { events }) };
      return webhookRow(await endpoints.change(accountId, id, change));
    },

    async remove(accountId, id) {
      await endpoints.remove(accountId, id);
      // The workflow then marks the remaining deliveries as failed now, and not only after the next run of the
      // sweeper.
      await workflow.wake(id).catch(onError);
    },

    async wakeDeleted(ids) {
      await Promise.all(ids.map((id) => workflow.wake(id).catch(onError)));
    },

    async test(accountId, id, kind, from) {
      await endpoints.find(accountId, id);
      const taken = await takeToken?.(`webhook-test:${from}:${accountId}`, TEST_LIMITS[from]);
      if (taken?.allowed === false)
        throw new ServiceError('rate_limited', {
          detail: `An account can send at most ${Math.round(TEST_LIMITS[from].rate * 60)} test events per minute.`,
          retryAfter: taken.retryAfterSeconds,
        });
      await resendLimit.takeTest(accountId);
      const attempt = await attempts.find(await workflow.test(id, randomUUID(), kind));
      const [row] = attempt === null ? [] : await asRows([attempt]);
      if (row === undefined) throw new ServiceError('not_found');
      return row;
    },

    async enable(accountId, id) {
      await endpoints.find(accountId, id);
      await workflow.enable(id);
      return get(accountId, id);
    },

    rotateSecret: async (accountId, id, force, actor) => ({
      secret: await endpoints.rotateSecret(accountId, id, force, actor),
    }),

    activateSecret: async (accountId, id, actor) =>
      webhookRow(await endpoints.activateSecret(accountId, id, actor)),

    async resend(accountId, id, body) {
      await endpoints.find(accountId, id);
      const { deliveryIds } = body;
      const selection = deliveryIds === undefined ? { since: parseSince(body.since ?? '') } : { deliveryIds };
      const max = await resendLimit.takeResends(accountId, id, selection);
      const giveBack = (deliveries: number) => resendLimit.giveBack(accountId, deliveries).catch(onError);
      const queued = await workflow.resend(id, { ...selection, max }).catch(async (error) => {
        // After a time-out the deliveries may have been queued.
        if (!(error instanceof ServiceError) || error.code !== 'pool_busy') await giveBack(max);
        throw error;
      });
      await giveBack(max - queued);
      return { queued };
    },

    async attempts(accountId, id, page) {
      await endpoints.find(accountId, id);
      const { items, nextCursor } = await lists.attempts(id, page);
      return { items: await asRows(items), nextCursor };
    },

    async delivery(accountId, id, deliveryId) {
      const found = await lists.delivery(accountId, deliveryId);
      if (found === null || found.delivery.endpointId !== id) throw new ServiceError('not_found');
      const { delivery, event } = found;
      const rows = await asRows(await attempts.ofDelivery(delivery, SHOWN_ATTEMPTS));
      return { delivery: deliveryRow(delivery), event, attempts: rows };
    },
  };
}
