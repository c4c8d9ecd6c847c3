import { EVENTS, type EventData, type EventKind, TEST_EVENT } from '../../schemas/events.ts';
import { insertAllOnce, type Store } from '../mongo/mongo.ts';

import { newDelivery, newEvent, storeTestEvent, TEST_EVENT_IDS } from './events.ts';
import type { DeliveryDoc, DeliveryState } from './webhookDocs.ts';

/** Interval between resent deliveries, so that they do not overload a receiver that has just recovered. */
const RESEND_INTERVAL_MS = 100;
const RESEND_BATCH = 500;
/** Maximum age of held and failed deliveries that can be resent. */
export const RESEND_WITHIN_MS = 14 * 24 * 3_600_000;

/**
 * The deliveries to resend: the held and failed ones of events since a time, or those with these ids that are not being
 * attempted.
 */
export type Resend = { since: string } | { deliveryIds: string[] };

/**
 * Queues the selected deliveries of the last 14 days again, oldest first, at intervals of 100 ms. A delivery that waits
 * for its next attempt keeps its place in the retry schedule; any other starts the schedule again. Test deliveries are not
 * resent.
 *
 * @param running ids of the deliveries that are being attempted
 * @returns the number of queued deliveries
 */
export async function resend(
  { deliveries }: Store,
  endpointId: string,
  selection: Resend,
  running: readonly string[] = [],
): Promise<number> {
  const oldest = new Date(Date.now() - RESEND_WITHIN_MS);
  const since = 'since' in selection ? new Date(selection.since) : oldest;
  const isSelected = 'deliveryIds' in selection;
  const states: DeliveryState[] = [
    'held',
    'failed',
    ...(isSelected ? (['delivered', 'pending'] as const) : []),
  ];
  const filter = {
    endpointId,
    state: { $in: states },
    event: { $ne: 'webhook.test' as const },
    eventId: { $not: TEST_EVENT_IDS },
    createdAt: { $gte: since > oldest ? since : oldest },
    ...(isSelected && { _id: { $in: selection.deliveryIds, $nin: running } }),
  };
  let queued = 0;
  let nextAt = Date.now();
  for (;;) {
    const rows: Pick<DeliveryDoc, '_id' | 'state'>[] = await deliveries
      .find(filter, { projection: { _id: 1, state: 1 } })
      .sort({ createdAt: 1 })
      .limit(RESEND_BATCH)
      .toArray();
    if (rows.length === 0) return queued;
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
    if (isSelected) return queued;
    nextAt += rows.length * RESEND_INTERVAL_MS;
  }
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
