import { SpanKind } from '@opentelemetry/api';
import { cancellationSignal } from '@temporalio/activity';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { contextOf, inSpan } from '../../platform/trace.ts';
import { attemptId, type DeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import { eventBody } from '../../store/webhooks/events.ts';
import type {
  DeliveryAttemptDoc,
  DeliveryDoc,
  EventDoc,
  WebhookEndpointDoc,
} from '../../store/webhooks/webhookDocs.ts';
import { signingSecrets } from '../../store/webhooks/webhookEndpoints.ts';
import { isSuccess, type Posted, type PostServices, postSigned } from './postSigned.ts';

/** Called after each attempt with its duration in milliseconds. */
export type ObserveDelivery = (outcome: 'delivered' | 'failed', ms: number) => void;

export interface AttemptServices extends PostServices {
  keyring: Keyring;
  attempts: Pick<DeliveryAttempts, 'record'>;
  observe: ObserveDelivery;
}

/** The response of the receiver to an attempt. */
export interface AttemptResult {
  ok: boolean;
  /** The receiver's `Retry-After` in milliseconds; null if there was none. */
  retryAfterMs: number | null;
}

/** Posts an event once and records the attempt. @throws the reason of a cancellation; errors of MongoDB */
export type AttemptDelivery = (
  endpoint: WebhookEndpointDoc,
  delivery: DeliveryDoc,
  event: EventDoc,
  attempt: number,
) => Promise<AttemptResult>;

export const resultOf = ({
  statusCode,
  retryAfterMs,
}: Pick<DeliveryAttemptDoc | Posted, 'statusCode' | 'retryAfterMs'>): AttemptResult => ({
  ok: isSuccess(statusCode),
  retryAfterMs,
});

export const createAttemptDelivery =
  (services: AttemptServices): AttemptDelivery =>
  async (endpoint, delivery, event, attempt) => {
    const at = new Date();
    // Continues the trace of the change that the event reports. The endpoint's workflow serves many events and traces.
    const parent = contextOf(event.traceparent);
    const { content, ...posted } = await inSpan('activity deliver', { parent, kind: SpanKind.CONSUMER }, () =>
      postSigned(
        services,
        { id: event._id, event: event.event, url: endpoint.url, body: eventBody(event) },
        (now) => signingSecrets(services.keyring, endpoint, now),
        cancellationSignal(),
      ),
    );
    const result = resultOf(posted);
    services.observe(result.ok ? 'delivered' : 'failed', posted.durationMs);
    const { _id: deliveryId, accountId, endpointId, eventId } = delivery;
    const _id = attemptId(deliveryId, attempt);
    const row = { _id, accountId, endpointId, eventId, event: event.event, attempt, at, ...posted };
    await services.attempts.record(row, content);
    return result;
  };
