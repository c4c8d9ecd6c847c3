import { createHash, randomUUID } from 'node:crypto';
import type { ClientSession } from 'mongodb';
import { activeTraceparent } from '../../platform/trace.ts';
import type { Env } from '../../schemas/env.ts';
import type { EventData, EventKind } from '../../schemas/events.ts';
import { isLocalhost } from '../../schemas/formats/url.ts';
import { createdNow, insertAllOnce, type Store } from '../mongo/mongo.ts';
import { endpointsSending } from './sending.ts';
import type { DeliveryDoc, EventDoc } from './webhookDocs.ts';

/** Matches the ids of test events, which begin with `TEST_EVENT`. */
export const TEST_EVENT_IDS = /^evt_test_/;

/** Creates an event that is pending until its dispatch has created its deliveries. */
export const newEvent = <K extends EventKind>(
  accountId: string,
  event: K,
  data: EventData<K>,
  {
    id = `evt_${randomUUID()}`,
    createdAt = new Date(),
    traceparent = activeTraceparent(),
  }: { id?: string; createdAt?: Date; traceparent?: string | undefined } = {},
): EventDoc => ({
  _id: id,
  accountId,
  event,
  createdAt,
  data,
  pending: true,
  ...(traceparent !== undefined && { traceparent }),
});

/**
 * Stores an event in the transaction of the change that it reports, with the current time of the database server. Its
 * dispatch starts after the commit.
 */
export async function storeEvent(store: Store, event: EventDoc, session: ClientSession): Promise<void> {
  await store.events.updateOne({ _id: event._id }, createdNow(event), { session, upsert: true });
  await store.eventStored(event.accountId, session);
}

/**
 * Stores events of committed changes and starts their dispatch. The ids derive from the changes, so that it can be
 * repeated; `createdAt` must be a time of the database server.
 *
 * @param callerDispatches whether the caller starts the dispatch itself. Default: false
 */
export async function storeEvents(
  store: Store,
  events: readonly EventDoc[],
  callerDispatches = false,
): Promise<void> {
  await insertAllOnce(store.events, events);
  if (callerDispatches) return;
  for (const accountId of new Set(events.map((event) => event.accountId))) await store.eventStored(accountId);
}

/** Stores a test event, which the workflow of its endpoint attempts itself. Can be repeated. */
export async function storeTestEvent(store: Store, { pending: _, ...event }: EventDoc): Promise<void> {
  await insertAllOnce(store.events, [event]);
}

/**
 * The JSON body that is posted to webhook endpoints. All attempts send the same bytes, because MongoDB preserves the
 * order of fields.
 */
export const eventBody = ({ _id, event, createdAt, data }: EventDoc): string =>
  envelopeOf(_id, event, createdAt, data);

/** The envelope of an event or callback, as JSON. */
export const envelopeOf = (
  id: string,
  event: string,
  createdAt: Date,
  data: Record<string, unknown>,
): string => JSON.stringify({ id, event, createdAt: createdAt.toISOString().replace('Z', '+00:00'), data });

/** Number of events for which deliveries are created at the same time. */
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

/** How the workflows of endpoints learn of new deliveries. */
export interface EndpointNotifier {
  /** Signals an endpoint's workflow, and starts it if it is not running. */
  wake(endpointId: string): Promise<void>;
  /** Whether endpoints on `localhost` receive deliveries. Otherwise these are held, and `npm run listen` shows them. */
  localhost: boolean;
}

/**
 * Whether events are delivered to endpoints on `localhost`. In production they are not, because `localhost` is then a
 * machine of the operator.
 */
export const deliversToLocalhost = ({ NODE_ENV }: Pick<Env, 'NODE_ENV'>): boolean =>
  NODE_ENV !== 'production';

/**
 * The step of a dispatch: creates the deliveries of an account's new events and wakes the workflows of their endpoints.
 * May be repeated, in any process: an event stays `pending` until both are done.
 */
export async function createDeliveries(
  store: Store,
  accountId: string,
  { wake, localhost }: EndpointNotifier,
): Promise<void> {
  const { events, webhookEndpoints, deliveries } = store;
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
    if (waiting.size > 0) {
      // Read after the insert: a sender that ends later is followed by a round of its workflow, which finds the deliveries.
      const sending = new Set(await endpointsSending(store, [...waiting]));
      await Promise.all([...waiting].filter((id) => !sending.has(id)).map(wake));
    }
    await events.updateMany({ _id: { $in: batch.map(({ _id }) => _id) } }, { $unset: { pending: '' } });
    // What is stored after the batch was read has a dispatch of its own.
    if (batch.length < BATCH) return;
  }
}

/** Age from which pending events and overdue deliveries count as left by a crash; longer than a dispatch takes. */
const LEFTOVER_AFTER_MS = 10_000;
/** Age at which test deliveries that were never attempted are marked failed. */
const TEST_EXPIRY_MS = 600_000;

/** Work that a crash left undone. */
interface Leftovers {
  /** Accounts with events whose dispatch was not started, or did not end. */
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
