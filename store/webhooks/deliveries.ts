import { EVENTS, type EventData, type EventKind, TEST_EVENT } from '../../schemas/events.ts';
import { MAX_FAILURES } from '../../schemas/webhookLimits.ts';
import { insertAllOnce, type Store } from '../mongo/mongo.ts';
import { newDelivery, newEvent, storeTestEvent, TEST_EVENT_IDS } from './events.ts';
import type { DeliveryDoc, DeliveryState, NoticeDoc, WebhookEndpointDoc } from './webhookDocs.ts';

/** New state of a delivery after an attempt. */
export interface Outcome {
  deliveryId: string;
  /**
   * Number of the attempt within the delivery. The outcome is ignored unless this number is higher than the stored
   * one.
   */
  attempt: number;
  tries: number;
  state: DeliveryState;
  /** Time of the next attempt in epoch milliseconds; null if none is scheduled. */
  nextAt: number | null;
}

/** The fields of an endpoint that only its workflow writes. Times are epoch milliseconds. */
export interface EndpointHealth {
  state: WebhookEndpointDoc['state'];
  failures: number;
  epoch: number;
  notBefore: number | null;
  disabledAt: number | null;
}

/** Input of `syncEndpoint`. */
export interface SyncRequest {
  endpointId: string;
  /** Workflow time in epoch milliseconds. */
  now: number;
  /** Number of the workflow's newest write of `health`; each write has a higher number. */
  turn: number;
  /** New health of the endpoint; null: unchanged. */
  health: EndpointHealth | null;
  outcomes: Outcome[];
  /** Ids of the deliveries that are being attempted. */
  running: string[];
  /** Ids of the deliveries that are due whatever their time is, and before all others; missing in older histories. */
  first?: string[] | undefined;
  /** Maximum number of due deliveries to return. */
  take: number;
}

export interface DueDelivery {
  deliveryId: string;
  attempts: number;
  tries: number;
}

/** Result of `syncEndpoint`. */
export interface SyncResult {
  /** Account of the endpoint; missing in older workflow histories. */
  accountId?: string | undefined;
  turn: number;
  health: EndpointHealth;
  due: DueDelivery[];
  /** When the next delivery after `due` is due, in epoch milliseconds; null if there is none. */
  nextAt: number | null;
}

/** Interval between resent deliveries, so that they do not overload a receiver that has just recovered. */
const RESEND_INTERVAL_MS = 100;
const RESEND_BATCH = 500;
/** Maximum age of held and failed deliveries that can be resent. */
export const RESEND_WITHIN_MS = 14 * 24 * 3_600_000;

const asDate = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
const asMs = (date: Date | null): number | null => date?.getTime() ?? null;

const healthOf = (row: WebhookEndpointDoc): EndpointHealth => ({
  state: row.state,
  failures: row.failures,
  epoch: row.epoch,
  notBefore: asMs(row.notBefore),
  disabledAt: asMs(row.disabledAt),
});

/**
 * Creates the notice that tells the owner that failures disabled the endpoint. One notice is created each time that
 * happens; no-op for any other health.
 */
async function insertNotice(store: Store, endpointId: string, health: EndpointHealth): Promise<void> {
  const { state, failures, epoch, disabledAt } = health;
  if (state !== 'disabled' || disabledAt === null || failures < MAX_FAILURES) return;
  const endpoint = await store.webhookEndpoints.findOne({ _id: endpointId });
  if (endpoint === null) return;
  const { accountId, url } = endpoint;
  const at = new Date(disabledAt);
  const notice: NoticeDoc = {
    _id: `${endpointId}-${epoch}`,
    accountId,
    endpointId,
    url,
    at,
    tries: 0,
    dueAt: at,
  };
  await insertAllOnce(store.notices, [notice]);
}

async function writeOutcomes({ deliveries }: Store, outcomes: readonly Outcome[]): Promise<void> {
  if (outcomes.length === 0) return;
  await deliveries.bulkWrite(
    outcomes.map(({ deliveryId, attempt, tries, state, nextAt }) => ({
      updateOne: {
        filter: { _id: deliveryId, state: 'pending', attempts: { $lt: attempt } },
        update: { $set: { state, attempts: attempt, tries, nextAt: asDate(nextAt) } },
      },
    })),
    { ordered: false },
  );
}

/**
 * Writes the workflow's outcomes and health, and returns the deliveries that are due. May be repeated: a health with
 * a lower `turn` than the stored one is ignored. Returns null if the endpoint was deleted; its undelivered events are
 * then marked failed.
 */
export async function syncEndpoint(store: Store, request: SyncRequest): Promise<SyncResult | null> {
  const { endpointId, health, running, first = [], take } = request;
  const { deliveries, webhookEndpoints } = store;
  await writeOutcomes(store, request.outcomes);
  if (health !== null) {
    // The notice is written before the state, so that it is not lost if the process crashes in between: the call is
    // then repeated.
    await insertNotice(store, endpointId, health);
    await webhookEndpoints.updateOne(
      { _id: endpointId, turn: { $lt: request.turn } },
      {
        $set: {
          ...health,
          notBefore: asDate(health.notBefore),
          disabledAt: asDate(health.disabledAt),
          turn: request.turn,
        },
      },
    );
  }
  const endpoint = await webhookEndpoints.findOne({ _id: endpointId });
  const pending = { endpointId, state: 'pending' as const };
  if (endpoint === null) {
    await deliveries.updateMany(
      { endpointId, state: { $in: ['pending', 'held'] } },
      { $set: { state: 'failed', nextAt: null } },
    );
    return null;
  }
  if (endpoint.state === 'disabled')
    await deliveries.updateMany(
      { ...pending, _id: { $nin: running } },
      { $set: { state: 'held', nextAt: null } },
    );
  // Test deliveries have no `nextAt`; only "Send test" attempts them.
  const isWaiting = { ...pending, nextAt: { $ne: null } };
  const requested =
    first.length === 0
      ? []
      : await deliveries.find({ ...isWaiting, _id: { $in: first, $nin: running } }).toArray();
  const excluded = [...running, ...requested.map(({ _id }) => _id)];
  const others = await deliveries
    .find({ ...isWaiting, _id: { $nin: excluded } })
    .sort({ nextAt: 1 })
    .limit(take + 1)
    .toArray();
  const waiting = [...requested, ...others];
  // The later of the workflow's time and this process's time, so that a delivery is due when the workflow's timer for
  // it fires.
  const now = new Date(Math.max(request.now, Date.now()));
  const due = waiting
    .slice(0, take)
    .filter(({ nextAt }, index) => index < requested.length || (nextAt !== null && nextAt <= now));
  return {
    accountId: endpoint.accountId,
    turn: endpoint.turn,
    health: healthOf(endpoint),
    due: due.map(({ _id: deliveryId, attempts, tries }) => ({ deliveryId, attempts, tries })),
    nextAt: asMs(waiting[due.length]?.nextAt ?? null),
  };
}

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
