import { SpanKind } from '@opentelemetry/api';
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { contextOf, inSpan } from '../../platform/trace.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { prepareTest, resend } from '../../store/webhooks/deliveries.ts';
import { attemptId, type DeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import { syncEndpoint } from '../../store/webhooks/endpointState.ts';
import { eventBody } from '../../store/webhooks/events.ts';
import { signingSecrets } from '../../store/webhooks/webhookEndpoints.ts';
import type { DeliveryActivities, EndpointActivities } from '../../workflows/webhookEndpoint.ts';
import { isSuccess, type Posted, type PostServices, postSigned } from './postSigned.ts';

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

export interface DeliveryServices extends PostServices {
  store: Store;
  keyring: Keyring;
  attempts: DeliveryAttempts;
  observe: ObserveDelivery;
}

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
        () =>
          postSigned(
            services,
            { id: event._id, event: event.event, url: endpoint.url, body: eventBody(event) },
            (now) => signingSecrets(services.keyring, endpoint, now),
            cancellationSignal(),
          ),
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
