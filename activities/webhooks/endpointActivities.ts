import { heartbeat } from '@temporalio/activity';
import type { Store } from '../../store/mongo/mongo.ts';
import { prepareTest, resend } from '../../store/webhooks/deliveries.ts';
import { attemptId, type DeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import { syncEndpoint } from '../../store/webhooks/endpointState.ts';
import type { DeliveryActivities, EndpointActivities } from '../../workflows/webhookEndpoint.ts';
import {
  type AttemptResult,
  type AttemptServices,
  createAttemptDelivery,
  resultOf,
} from './attemptDelivery.ts';
import { createSendDue } from './sendDue.ts';

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

export interface DeliveryServices extends AttemptServices {
  store: Store;
  attempts: DeliveryAttempts;
  /** Aborts when this process must stop. */
  stopping: AbortSignal;
}

/** Runs the work of an activity, which Temporal takes for dead without heartbeats. */
async function whileBeating<T>(work: () => Promise<T>): Promise<T> {
  const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}

/** Creates the activities of the `delivery` pool. Each attempt uses the endpoint as it then is, and is recorded. */
export function createDeliveryActivities(services: DeliveryServices): DeliveryActivities {
  const { store, attempts } = services;
  const attemptDelivery = createAttemptDelivery(services);
  const sendDue = createSendDue({ ...services, attemptDelivery });
  return {
    async deliver({ endpointId, deliveryId, attempt }) {
      const id = attemptId(deliveryId, attempt);
      const asPosted = (result: AttemptResult) => ({ kind: 'posted' as const, attemptId: id, ...result });
      // A retried activity does not post again if the attempt is already recorded.
      const recorded = await attempts.find(id);
      if (recorded !== null) return asPosted(resultOf(recorded));
      const endpoint = await store.webhookEndpoints.findOne({ _id: endpointId });
      const delivery = await store.deliveries.findOne({ _id: deliveryId });
      if (endpoint === null || endpoint.state === 'disabled' || delivery === null) return { kind: 'unsent' };
      const event = await store.events.findOne({ _id: delivery.eventId });
      if (event === null) throw new Error(`event ${delivery.eventId} does not exist`);
      return asPosted(await whileBeating(() => attemptDelivery(endpoint, delivery, event, attempt)));
    },

    sendDue: (task) => whileBeating(() => sendDue(task)),
  };
}
