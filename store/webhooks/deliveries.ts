import type { Filter } from 'mongodb';
import { EVENTS, type EventData, type EventKind, TEST_EVENT } from '../../schemas/events.ts';
import { insertAllOnce, type Store } from '../mongo/mongo.ts';
import { newDelivery, newEvent, storeTestEvent, TEST_EVENT_IDS } from './events.ts';
import { attemptedNow } from './sending.ts';
import type { DeliveryDoc } from './webhookDocs.ts';

/** Interval between resent deliveries, so that they do not overload a receiver that has just recovered. */
const RESEND_INTERVAL_MS = 100;
const RESEND_BATCH = 500;
/** Maximum age of held and failed deliveries that can be resent. */
export const RESEND_WITHIN_MS = 14 * 24 * 3_600_000;

/**
 * The deliveries to resend: the held and failed ones of events since a time, or those with these ids that are not being
 * attempted. At most `max`, the oldest first; missing in older histories, which have no maximum.
 */
export type Resend = ({ since: string } | { deliveryIds: string[] }) & { max?: number | undefined };

/** Selects the deliveries to resend of the last 14 days. Test deliveries are not resent. */
function resendFilter(endpointId: string, selection: Resend): Filter<DeliveryDoc> {
  const oldest = new Date(Date.now() - RESEND_WITHIN_MS);
  const common = { endpointId, event: { $ne: 'webhook.test' }, eventId: { $not: TEST_EVENT_IDS } } as const;
  if ('deliveryIds' in selection)
    return {
      ...common,
      state: { $in: ['held', 'failed', 'delivered', 'pending'] },
      createdAt: { $gte: oldest },
      _id: { $in: selection.deliveryIds },
    };
  const since = new Date(selection.since);
  return {
    ...common,
    state: { $in: ['held', 'failed'] },
    createdAt: { $gte: since > oldest ? since : oldest },
  };
}

/** Returns the number of deliveries that `resend` would queue without a maximum if none is being attempted. */
export const countToResend = (
  { deliveries }: Store,
  endpointId: string,
  selection: Resend,
): Promise<number> => deliveries.countDocuments(resendFilter(endpointId, selection));

/**
 * Queues the selected deliveries again, oldest first, at intervals of 100 ms. A delivery that waits for its next attempt
 * keeps its place in the retry schedule; any other starts the schedule again.
 *
 * @param running ids of the deliveries that are being attempted, other than those of the endpoint's sender
 * @returns the number of queued deliveries
 */
export async function resend(
  { deliveries, webhookEndpoints }: Store,
  endpointId: string,
  selection: Resend,
  running: readonly string[] = [],
): Promise<number> {
  const { max = Number.POSITIVE_INFINITY } = selection;
  const endpoint = await webhookEndpoints.findOne({ _id: endpointId }, { projection: { sending: 1 } });
  const sent = endpoint === null ? [] : attemptedNow(endpoint);
  const filter: Filter<DeliveryDoc> = {
    $and: [
      resendFilter(endpointId, selection),
      { _id: { $nin: [...running] } },
      { $nor: [{ _id: { $in: sent }, state: 'pending' }] },
    ],
  };
  let queued = 0;
  let nextAt = Date.now();
  while (queued < max) {
    const rows: Pick<DeliveryDoc, '_id' | 'state'>[] = await deliveries
      .find(filter, { projection: { _id: 1, state: 1 } })
      .sort({ createdAt: 1 })
      .limit(Math.min(RESEND_BATCH, max - queued))
      .toArray();
    if (rows.length === 0) break;
    const { matchedCount } = await deliveries.bulkWrite(
      rows.map(({ _id, state }, index) => ({
        updateOne: {
          filter: { _id, state },
          update: {
            $set: {
              state: 'pending',
              nextAt: new Date(nextAt + index * RESEND_INTERVAL_MS),
              ...(state !== 'pending' && { tries: 0 }),
            },
          },
        },
      })),
      { ordered: false },
    );
    queued += matchedCount;
    // Selected deliveries fit in one batch. A second pass could find those that have been delivered in the meantime.
    if ('deliveryIds' in selection) break;
    nextAt += rows.length * RESEND_INTERVAL_MS;
  }
  return queued;
}

/** The data of a test event: the example of its kind. */
const testData = (kind: EventKind, endpointId: string): EventData<EventKind> =>
  kind === 'webhook.test' ? { ...EVENTS[kind].example, endpointId } : EVENTS[kind].example;

/**
 * Creates a test event and its delivery to this endpoint; a repetition with the same `testId` creates nothing.
 *
 * @returns the delivery's id, or null if the endpoint was deleted
 */
export async function prepareTest(
  store: Store,
  endpointId: string,
  testId: string,
  kind: EventKind = 'webhook.test',
): Promise<string | null> {
  const endpoint = await store.webhookEndpoints.findOne({ _id: endpointId });
  if (endpoint === null) return null;
  const event = newEvent(endpoint.accountId, kind, testData(kind, endpointId), {
    id: `${TEST_EVENT}${testId}`,
  });
  const delivery: DeliveryDoc = { ...newDelivery(event, endpointId, false), nextAt: null };
  await storeTestEvent(store, event);
  await insertAllOnce(store.deliveries, [delivery]);
  return delivery._id;
}
