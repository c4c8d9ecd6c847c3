import { createHash } from 'node:crypto';
import { isLocalhost } from '../schemas/formats/localhost.ts';
import { type EventDoc, insertAllOnce, type Store } from './mongo.ts';
import type { DeliveryDoc } from './webhookDocs.ts';

const BATCH = 200;

/** The id of the one delivery that an event has to an endpoint. */
export const deliveryId = (eventId: string, endpointId: string): string =>
  `dlv_${createHash('sha256').update(`${eventId} ${endpointId}`).digest('hex').slice(0, 32)}`;

/** A delivery that is due at once, or held. */
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

/** How events get from the books to the workflows of endpoints. */
export interface EndpointNotifier {
  /** Tells an endpoint's workflow, which is started where there is none. */
  wake(endpointId: string): Promise<void>;
  /** Whether endpoints on `localhost` are posted to; else what is for them is held, for `npm run listen` to show. */
  localhost: boolean;
}

/**
 * Makes the deliveries of an account's new events and tells the workflows of their endpoints. May run any number of
 * times, in any process: an event counts as handed over only when all of that is done.
 */
export async function dispatchEvents(
  { events, webhookEndpoints, deliveries }: Store,
  accountId: string,
  { wake, localhost }: EndpointNotifier,
): Promise<void> {
  for (;;) {
    const fresh = await events
      .find({ accountId, pending: true })
      .sort({ createdAt: 1 })
      .limit(BATCH)
      .toArray();
    if (fresh.length === 0) return;
    const endpoints = await webhookEndpoints.find({ accountId }).toArray();
    const rows = fresh.flatMap((event) =>
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
    await events.updateMany({ _id: { $in: fresh.map(({ _id }) => _id) } }, { $unset: { pending: '' } });
  }
}

/** A hand-over takes less; what is older was left by a crash. */
const LEFT_AFTER_MS = 10_000;
/** A test that nobody attempted by then never will be. */
const TEST_LEFT_AFTER_MS = 600_000;

/** What a crash left of events and deliveries. */
export interface Leftovers {
  /** Accounts with events that were not handed over. */
  accounts: string[];
  /** Endpoints with deliveries that are overdue, and not for a failure: their workflow may be gone. */
  endpoints: string[];
}

/** Finds what was left, and ends tests that were never attempted. */
export async function findLeftovers({ events, deliveries, webhookEndpoints }: Store): Promise<Leftovers> {
  const ago = (ms: number) => ({ $lt: new Date(Date.now() - ms) });
  await deliveries.updateMany(
    { state: 'pending', nextAt: null, createdAt: ago(TEST_LEFT_AFTER_MS) },
    { $set: { state: 'failed' } },
  );
  const overdue = await deliveries.distinct('endpointId', { state: 'pending', nextAt: ago(LEFT_AFTER_MS) });
  const resting = await webhookEndpoints.distinct('_id', {
    _id: { $in: overdue },
    notBefore: { $gt: new Date() },
  });
  return {
    accounts: await events.distinct('accountId', { pending: true, createdAt: ago(LEFT_AFTER_MS) }),
    endpoints: overdue.filter((id) => !resting.includes(id)),
  };
}
