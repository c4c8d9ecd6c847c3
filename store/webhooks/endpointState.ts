import { MAX_FAILURES } from '../../schemas/webhookLimits.ts';
import { insertAllOnce, type Store } from '../mongo/mongo.ts';
import { attemptedNow } from './sending.ts';
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
  /** Number of consecutive failed attempts. */
  failures: number;
  /** Number of times the endpoint was re-enabled. */
  epoch: number;
  /** No attempt starts before this time; null: attempts may start at once. */
  notBefore: number | null;
  disabledAt: number | null;
}

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

export interface SyncResult {
  /** Account of the endpoint; missing in older workflow histories. */
  accountId?: string | undefined;
  turn: number;
  health: EndpointHealth;
  due: DueDelivery[];
  /** When the next delivery after `due` is due, in epoch milliseconds; null if there is none. */
  nextAt: number | null;
}

/**
 * One round of an endpoint's workflow: writes its outcomes and health, and returns the deliveries that are due. May be
 * repeated: a health with a lower `turn` than the stored one is ignored. Returns null if the endpoint was deleted; its
 * undelivered events are then marked failed.
 */
export async function syncEndpoint(store: Store, request: SyncRequest): Promise<SyncResult | null> {
  const { endpointId, running } = request;
  await writeOutcomes(store, request.outcomes);
  await writeHealth(store, request);
  const endpoint = await store.webhookEndpoints.findOne({ _id: endpointId });
  if (endpoint === null) {
    await store.deliveries.updateMany(
      { endpointId, state: { $in: ['pending', 'held'] } },
      { $set: { state: 'failed', nextAt: null } },
    );
    return null;
  }
  if (endpoint.state === 'disabled')
    await store.deliveries.updateMany(
      { endpointId, state: 'pending', _id: { $nin: [...running, ...attemptedNow(endpoint)] } },
      { $set: { state: 'held', nextAt: null } },
    );
  const { accountId, turn } = endpoint;
  return { accountId, turn, health: healthOf(endpoint), ...(await readDue(store, request)) };
}

/** Writes the outcomes of attempts. Can be repeated: an outcome is ignored if its delivery has a later one. */
export async function writeOutcomes({ deliveries }: Store, outcomes: readonly Outcome[]): Promise<void> {
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

async function writeHealth(store: Store, { endpointId, health, turn }: SyncRequest): Promise<void> {
  if (health === null) return;
  // The notice is written before the state, so that it is not lost if the process crashes in between: the call is then
  // repeated.
  await insertNotice(store, endpointId, health);
  const { notBefore, disabledAt } = health;
  await store.webhookEndpoints.updateOne(
    { _id: endpointId, turn: { $lt: turn } },
    { $set: { ...health, notBefore: asDate(notBefore), disabledAt: asDate(disabledAt), turn } },
  );
}

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

async function readDue(store: Store, request: SyncRequest): Promise<Pick<SyncResult, 'due' | 'nextAt'>> {
  const { due, nextAt } = await findDue(store, request);
  return {
    due: due.map(({ _id: deliveryId, attempts, tries }) => ({ deliveryId, attempts, tries })),
    nextAt,
  };
}

/**
 * Finds the deliveries that are due: those of `first`, then those whose time has come, the earliest first.
 *
 * @returns also when the next one after them is due, in epoch milliseconds; null if there is none
 */
export async function findDue(
  { deliveries }: Store,
  {
    endpointId,
    now,
    running,
    first = [],
    take,
  }: Pick<SyncRequest, 'endpointId' | 'now' | 'running' | 'first' | 'take'>,
): Promise<{ due: DeliveryDoc[]; nextAt: number | null }> {
  // Test deliveries have no `nextAt`; only "Send test" attempts them.
  const isWaiting = { endpointId, state: 'pending', nextAt: { $ne: null } } as const;
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
  const time = new Date(Math.max(now, Date.now()));
  const due = waiting
    .slice(0, take)
    .filter(({ nextAt }, index) => index < requested.length || (nextAt !== null && nextAt <= time));
  return { due, nextAt: asMs(waiting[due.length]?.nextAt ?? null) };
}

const asDate = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
const asMs = (date: Date | null): number | null => date?.getTime() ?? null;

const healthOf = (row: WebhookEndpointDoc): EndpointHealth => ({
  state: row.state,
  failures: row.failures,
  epoch: row.epoch,
  notBefore: asMs(row.notBefore),
  disabledAt: asMs(row.disabledAt),
});
