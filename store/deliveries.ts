import { MAX_FAILURES } from '../schemas/webhookLimits.ts';
import { newDelivery } from './dispatchEvents.ts';
import { newEvent } from './events.ts';
import { insertAllOnce, type Store } from './mongo.ts';
import type { DeliveryDoc, DeliveryState, NoticeDoc, WebhookEndpointDoc } from './webhookDocs.ts';

/** What the workflow of an endpoint made of an attempt. */
export interface Outcome {
  deliveryId: string;
  /** Number of the attempt among all of its delivery; an outcome with a smaller one comes too late. */
  attempt: number;
  tries: number;
  state: DeliveryState;
  /** Epoch milliseconds. */
  nextAt: number | null;
}

/** The part of an endpoint's row that its workflow owns; epoch milliseconds. */
export interface EndpointHealth {
  state: WebhookEndpointDoc['state'];
  failures: number;
  epoch: number;
  notBefore: number | null;
  disabledAt: number | null;
}

/** One exchange between an endpoint's workflow and the books. */
export interface SyncRequest {
  endpointId: string;
  /** The workflow's time, epoch milliseconds. */
  now: number;
  /** Counts up with each `health` that is to be written. */
  turn: number;
  /** Null: as it was. */
  health: EndpointHealth | null;
  outcomes: Outcome[];
  /** Deliveries that are being attempted. */
  running: string[];
  /** Due deliveries wanted. */
  take: number;
}

export interface DueDelivery {
  deliveryId: string;
  attempts: number;
  tries: number;
}

export interface SyncResult {
  /** Owner of the endpoint; answers in older workflow histories do not have it. */
  accountId?: string | undefined;
  turn: number;
  health: EndpointHealth;
  due: DueDelivery[];
  /** When the next one after those is due; epoch milliseconds, null for none. */
  nextAt: number | null;
}

/** Resent deliveries are spread so that a receiver which just came back is not run over. */
const RESEND_EVERY_MS = 100;
const RESEND_BATCH = 500;
/** How far back held and failed deliveries can be resent. */
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

/** Where its failures have just disabled an endpoint: the owner is to be told, once. */
async function noteDisabling(store: Store, endpointId: string, health: EndpointHealth): Promise<void> {
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
 * Writes what the workflow decided, and answers what is to be done next. May be repeated: whatever was written by a later
 * turn stays. Null when the endpoint is gone; what was still to be delivered to it has failed then.
 */
export async function syncEndpoint(store: Store, turn: SyncRequest): Promise<SyncResult | null> {
  const { endpointId, health, running, take } = turn;
  const { deliveries, webhookEndpoints } = store;
  await writeOutcomes(store, turn.outcomes);
  if (health !== null) {
    // Before the state, which the dashboard shows: after a crash in between this is done again.
    await noteDisabling(store, endpointId, health);
    await webhookEndpoints.updateOne(
      { _id: endpointId, turn: { $lt: turn.turn } },
      {
        $set: {
          ...health,
          notBefore: asDate(health.notBefore),
          disabledAt: asDate(health.disabledAt),
          turn: turn.turn,
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
  const waiting = await deliveries
    // A test has no time: its press on the button attempts it, and nothing else.
    .find({ ...pending, _id: { $nin: running }, nextAt: { $ne: null } })
    .sort({ nextAt: 1 })
    .limit(take + 1)
    .toArray();
  // Whichever clock is ahead: what a timer of the workflow waited for is due.
  const now = new Date(Math.max(turn.now, Date.now()));
  const due = waiting.slice(0, take).filter(({ nextAt }) => nextAt !== null && nextAt <= now);
  return {
    accountId: endpoint.accountId,
    turn: endpoint.turn,
    health: healthOf(endpoint),
    due: due.map(({ _id: deliveryId, attempts, tries }) => ({ deliveryId, attempts, tries })),
    nextAt: asMs(waiting[due.length]?.nextAt ?? null),
  };
}

/** Which deliveries of an endpoint are wanted again. */
export type Resend = { since: string } | { deliveryIds: string[] };

/** Queues held and failed deliveries of the last 14 days again, oldest first, spread over time. @returns how many */
export async function resend({ deliveries }: Store, endpointId: string, wanted: Resend): Promise<number> {
  const oldest = new Date(Date.now() - RESEND_WITHIN_MS);
  const since = 'since' in wanted ? new Date(wanted.since) : oldest;
  const filter = {
    endpointId,
    state: { $in: ['held', 'failed'] as DeliveryState[] },
    event: { $ne: 'webhook.test' as const },
    createdAt: { $gte: since > oldest ? since : oldest },
    ...('deliveryIds' in wanted && { _id: { $in: wanted.deliveryIds } }),
  };
  let queued = 0;
  let nextAt = Date.now();
  for (;;) {
    const rows: Pick<DeliveryDoc, '_id'>[] = await deliveries
      .find(filter, { projection: { _id: 1 } })
      .sort({ createdAt: 1 })
      .limit(RESEND_BATCH)
      .toArray();
    if (rows.length === 0) return queued;
    const { modifiedCount } = await deliveries.bulkWrite(
      rows.map(({ _id }, index) => ({
        updateOne: {
          filter: { _id, state: { $in: ['held', 'failed'] as const } },
          update: {
            $set: { state: 'pending', tries: 0, nextAt: new Date(nextAt + index * RESEND_EVERY_MS) },
          },
        },
      })),
      { ordered: false },
    );
    queued += modifiedCount;
    nextAt += rows.length * RESEND_EVERY_MS;
  }
}

/** The event of a press on Send test, and its delivery to that endpoint alone. Once for each `testId`. */
export async function prepareTest(store: Store, endpointId: string, testId: string): Promise<string | null> {
  const endpoint = await store.webhookEndpoints.findOne({ _id: endpointId });
  if (endpoint === null) return null;
  const { pending: _forThisAlone, ...event } = newEvent(
    endpoint.accountId,
    'webhook.test',
    { message: 'This is a test. No credits changed.', endpointId },
    { id: `evt_${testId}` },
  );
  const delivery: DeliveryDoc = { ...newDelivery(event, endpointId, false), nextAt: null };
  await insertAllOnce(store.events, [event]);
  await insertAllOnce(store.deliveries, [delivery]);
  return delivery._id;
}
