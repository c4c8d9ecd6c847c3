import { SpanKind } from '@opentelemetry/api';
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Guard } from '../../egress/guard.ts';
import type { GuardedResponse } from '../../egress/response.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { activeTraceparent, contextOf, inSpan } from '../../platform/trace.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { isLocalhost } from '../../schemas/formats/localhost.ts';
import { signatureHeaders } from '../../schemas/webhookSignature.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { prepareTest, resend } from '../../store/webhooks/deliveries.ts';
import { attemptId, type DeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import { syncEndpoint } from '../../store/webhooks/endpointState.ts';
import { eventBody } from '../../store/webhooks/events.ts';
import type {
  DeliveryAttemptDoc,
  EventDoc,
  StoredHeader,
  WebhookEndpointDoc,
} from '../../store/webhooks/webhookDocs.ts';
import { signingSecrets } from '../../store/webhooks/webhookEndpoints.ts';
import type { DeliveryActivities, EndpointActivities } from '../../workflows/webhookEndpoint.ts';

/** Timeout of a webhook attempt in milliseconds, from the start of the DNS lookup. */
const RESPONSE_MS = 10_000;
/** Maximum number of bytes of a response body that are stored. */
const KEPT_BYTES = 16 * 1024;
/** Maximum number of characters of all response headers that are stored. */
const KEPT_HEADERS = 8 * 1024;
/** Response headers whose values can be credentials and are therefore not stored. */
const CREDENTIALS: ReadonlySet<string> = new Set(['set-cookie', 'set-cookie2', 'authorization']);
/** Interval of heartbeats in milliseconds, well below the heartbeat timeout that the workflow sets. */
const HEARTBEAT_MS = 2000;

/** Creates the database steps of webhook endpoints, which the orchestrator runs as local activities. */
export const createEndpointActivities = (
  store: Store,
  scheduleMs: readonly number[],
): EndpointActivities => ({
  async syncEndpoint(turn) {
    const state = await syncEndpoint(store, turn);
    return state === null ? null : { ...state, scheduleMs: [...scheduleMs] };
  },
  resend: (endpointId, wanted, running) => resend(store, endpointId, wanted, running),
  prepareTest: (endpointId, testId, kind) => prepareTest(store, endpointId, testId, kind),
});

/** Called after each attempt with its duration in milliseconds. */
export type ObserveDelivery = (outcome: 'delivered' | 'failed', ms: number) => void;

export interface DeliveryServices {
  store: Store;
  keyring: Keyring;
  attempts: DeliveryAttempts;
  egress: Guard;
  /** Whether deliveries to `localhost` are sent. If not, only `npm run listen` forwards them. */
  localhost: boolean;
  observe: ObserveDelivery;
}

type Posted = Pick<DeliveryAttemptDoc, 'statusCode' | 'error' | 'durationMs' | 'retryAfterMs'> & {
  content: Parameters<DeliveryAttempts['record']>[1];
};

/** Reads Retry-After (RFC 9110, 10.2.3) of a 429 or 503 response, in milliseconds; null otherwise. */
function readRetryAfter(response: GuardedResponse): number | null {
  const text = response.header('retry-after');
  if (text === null || (response.status !== 429 && response.status !== 503)) return null;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, Math.round(ms)) : null;
}

function keptHeaders(headers: GuardedResponse['headers']): StoredHeader[] {
  let size = 0;
  return headers
    .map(([name, value]): StoredHeader => [name, CREDENTIALS.has(name.toLowerCase()) ? '(not kept)' : value])
    .filter(([name, value]) => {
      size += name.length + value.length;
      return size <= KEPT_HEADERS;
    });
}

/** Reads the part of a response body that is stored. If the response breaks off, returns what has been received. */
async function readBody(response: GuardedResponse): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response.body) chunks.push(chunk);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Posts an event to an endpoint once. Failures of the receiver are part of the result. @throws the signal's reason */
async function post(
  { egress, keyring, localhost }: DeliveryServices,
  endpoint: WebhookEndpointDoc,
  event: EventDoc,
  signal: AbortSignal,
): Promise<Posted> {
  const now = new Date();
  const body = eventBody(event);
  const message = { id: event._id, event: event.event, body, timestamp: Math.floor(now.getTime() / 1000) };
  const traceparent = activeTraceparent();
  const headers: StoredHeader[] = [
    ['Content-Type', 'application/json'],
    ['User-Agent', 'utility-tools-webhooks/1.0'],
    ['Accept-Encoding', 'identity'],
    ...(traceparent === undefined ? [] : [['traceparent', traceparent] satisfies StoredHeader]),
    ...signatureHeaders(message, signingSecrets(keyring, endpoint, now)),
  ];
  // The query can be a credential of the receiver.
  const request = { url: endpoint.url.replace(/[?#].*$/s, ''), requestHeaders: headers };
  const startedAt = performance.now();
  try {
    const target = egress.parseTarget(endpoint.url, { kind: 'url', pointer: '/url' });
    if (!localhost && isLocalhost(endpoint.url)) throw new ServiceError('target_refused');
    using response = await egress.request(target, {
      method: 'POST',
      headers,
      body,
      maxBytes: KEPT_BYTES,
      overflow: 'truncate',
      signal,
      deadline: now.getTime() + RESPONSE_MS,
    });
    const durationMs = Math.round(response.elapsedMs);
    const retryAfterMs = readRetryAfter(response);
    return {
      statusCode: response.status,
      error: null,
      durationMs,
      retryAfterMs,
      content: {
        ...request,
        responseHeaders: keptHeaders(response.headers),
        body: await readBody(response),
      },
    };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const durationMs = Math.round(performance.now() - startedAt);
    return {
      statusCode: null,
      error: `${error.code}: ${error.detail}`,
      durationMs,
      retryAfterMs: null,
      content: { ...request, responseHeaders: null, body: null },
    };
  }
}

const isSuccess = (status: number | null): boolean => status !== null && status >= 200 && status < 300;

/** Creates the activity of the `delivery` pool. Each attempt reads endpoint, URL and secrets again and is recorded. */
export const createDeliveryActivities = (services: DeliveryServices): DeliveryActivities => ({
  async deliver({ endpointId, deliveryId, attempt }) {
    const { store, attempts } = services;
    const id = attemptId(deliveryId, attempt);
    const asResult = ({ statusCode, retryAfterMs }: Pick<Posted, 'statusCode' | 'retryAfterMs'>) => ({
      kind: 'posted' as const,
      ok: isSuccess(statusCode),
      attemptId: id,
      retryAfterMs,
    });
    // A retried activity does not post again if the attempt is already recorded.
    const recorded = await attempts.find(id);
    if (recorded !== null) return asResult(recorded);
    const endpoint = await store.webhookEndpoints.findOne({ _id: endpointId });
    const delivery = await store.deliveries.findOne({ _id: deliveryId });
    if (endpoint === null || endpoint.state === 'disabled' || delivery === null) return { kind: 'unsent' };
    const event = await store.events.findOne({ _id: delivery.eventId });
    if (event === null) throw new Error(`event ${delivery.eventId} does not exist`);

    const at = new Date();
    const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
    try {
      // Continues the trace of the change that the event reports. The endpoint's workflow serves many events and traces.
      const parent = contextOf(event.traceparent);
      const { content, ...posted } = await inSpan(
        'activity deliver',
        { parent, kind: SpanKind.CONSUMER },
        () => post(services, endpoint, event, cancellationSignal()),
      );
      services.observe(isSuccess(posted.statusCode) ? 'delivered' : 'failed', posted.durationMs);
      const { accountId, eventId } = delivery;
      const row = { _id: id, accountId, endpointId, eventId, event: event.event, attempt, at, ...posted };
      await attempts.record(row, content);
      return asResult(posted);
    } finally {
      clearInterval(beat);
    }
  },
});
