import { createHash } from 'node:crypto';
import { isLocalhost } from '../../schemas/formats/localhost.ts';
import { insertAllOnce, type Store } from '../mongo/mongo.ts';
import type { DeliveryDoc, EventDoc } from './webhookDocs.ts';

const BATCH = 200;

/**
 * Returns the id of an event's delivery to an endpoint. There is at most one delivery for each event and endpoint.
 */
export const deliveryId = (eventId: string, endpointId: string): string =>
  `dlv_${createHash('sha256').update(`${eventId} ${endpointId}`).digest('hex').slice(0, 32)}`;

/** Creates a delivery that is due immediately, or held. */
export function newDelivery(event: EventDoc, endpointId: string, held: boolean): DeliveryDoc {
  return {
    _id: deliveryId(event._id, endpointId),
    accountId: event.accountId,
    endpointId,
    eventId: event._id,
    event: event.event,
    createdAt: event.createdAt,
    state: held ? 'held' : 'pending',
    attempts: 0,
    tries: 0,
    nextAt: held ? null : event.createdAt,
  };
}

/** Functions and settings by which the dispatch of events reaches the workflows of endpoints. */
export interface EndpointNotifier {
  /** Signals an endpoint's workflow, and starts it if it is not running. */
  wake(endpointId: string): Promise<void>;
  /** Whether endpoints on `localhost` receive deliveries. Otherwise these are held, and `npm run listen` shows them. */
  localhost: boolean;
}

/**
 * Creates the deliveries of an account's new events and wakes the workflows of their endpoints. May be repeated, in any
 * process: an event stays `pending` until both are done.
 */
export async function dispatchEvents(
  { events, webhookEndpoints, deliveries }: Store,
  accountId: string,
  { wake, localhost }: EndpointNotifier,
): Promise<void> {
  for (;;) {
    const batch = await events
      .find({ accountId, pending: true })
      .sort({ createdAt: 1 })
      .limit(BATCH)
      .toArray();
    if (batch.length === 0) return;
    const endpoints = await webhookEndpoints.find({ accountId }).toArray();
    const rows = batch.flatMap((event) =>
      endpoints
        .filter(
          ({ createdAt, events: kinds }) =>
            createdAt <= event.createdAt && (kinds?.includes(event.event) ?? true),
        )
        .map(({ _id, state, url }) =>
          newDelivery(event, _id, state === 'disabled' || (!localhost && isLocalhost(url))),
        ),
    );
    await insertAllOnce(deliveries, rows);
    const waiting = new Set(
      rows.filter(({ state }) => state === 'pending').map(({ endpointId }) => endpointId),
    );
    await Promise.all([...waiting].map(wake));
    await events.updateMany({ _id: { $in: batch.map(({ _id }) => _id) } }, { $unset: { pending: '' } });
  }
}

/** Age from which pending events and overdue deliveries count as left by a crash; longer than a dispatch takes. */
const LEFTOVER_AFTER_MS = 10_000;
/** Age at which test deliveries that were never attempted are marked failed. */
const TEST_EXPIRY_MS = 600_000;

/** Work that a crash left undone. */
export interface Leftovers {
  /** Accounts with events that were not dispatched. */
  accounts: string[];
  /** Endpoints that have overdue deliveries and no backoff, so that their workflow may have ended. */
  endpoints: string[];
}

/** Finds leftovers and marks unattempted test deliveries as failed. */
export async function findLeftovers({ events, deliveries, webhookEndpoints }: Store): Promise<Leftovers> {
  const ago = (ms: number) => ({ $lt: new Date(Date.now() - ms) });
  await deliveries.updateMany(
    { state: 'pending', nextAt: null, createdAt: ago(TEST_EXPIRY_MS) },
    { $set: { state: 'failed' } },
  );
  const overdue = await deliveries.distinct('endpointId', {
    state: 'pending',
    nextAt: ago(LEFTOVER_AFTER_MS),
  });
  const backingOff = await webhookEndpoints.distinct('_id', {
    _id: { $in: overdue },
    notBefore: { $gt: new Date() },
  });
  return {
    accounts: await events.distinct('accountId', { pending: true, createdAt: ago(LEFTOVER_AFTER_MS) }),
    endpoints: overdue.filter((id) => !backingOff.includes(id)),
  };
}
