import type { Ledger } from '../ledger/ledger.ts';
import type { Store } from '../mongo/mongo.ts';
import type { CallDoc } from './callDocs.ts';

/** Result of a sweep. */
export interface Sweep {
  /** Number of settled calls whose workflow had ended or never started. */
  ended: number;
  /** Number of released holds whose call had already ended, which a late reservation causes. */
  strayHolds: number;
}

interface Held {
  accountId: string;
  callId: string;
  nonce: string;
}

/** Minimum age of calls that are swept: the workflow of a younger call may not have started yet. */
const MIN_AGE_MS = 25_000;
const OLD_HOLD_MS = 600_000;
const BATCH = 500;
/**
 * Number of calls that are settled concurrently. After an outage many calls are open, and a settlement mostly waits
 * for MongoDB's disk.
 */
const CONCURRENCY = 20;

/**
 * Settles calls and releases holds that a crash left open.
 *
 * @param isOver whether Temporal reports the call's workflow as closed or unknown; throws if Temporal cannot be
 *   asked; the call is then left unchanged
 */
export async function sweep(
  store: Store,
  ledger: Ledger,
  isOver: (callId: string) => Promise<boolean>,
): Promise<Sweep> {
  const result: Sweep = { ended: 0, strayHolds: 0 };

  const end = async ({ _id: callId, accountId, actsOnWorld }: CallDoc): Promise<void> => {
    if (!(await isOver(callId))) return;
    await ledger.settle({ callId, accountId, wanted: 'refunded', code: 'internal', release: !actsOnWorld });
    result.ended++;
  };
  const running = await store.calls
    .find({ state: 'running', $expr: { $lt: ['$touchedAt', { $subtract: ['$$NOW', MIN_AGE_MS] }] } })
    .limit(BATCH)
    .toArray();
  while (running.length > 0) {
    const ending = running.splice(0, CONCURRENCY).map(end);
    await Promise.allSettled(ending);
    await Promise.all(ending);
  }

  const dropStrays = async (holds: readonly Held[]): Promise<void> => {
    const rows = await store.calls
      .find({ _id: { $in: holds.map(({ callId }) => callId) } }, { projection: { state: 1 } })
      .toArray();
    const states = new Map(rows.map((row) => [row._id, row.state]));
    for (const { accountId, callId, nonce } of holds) {
      const state = states.get(callId);
      const stray = state === undefined ? await isOver(callId) : state !== 'running';
      if (stray) {
        await ledger.dropStrayHold(accountId, callId, nonce);
        result.strayHolds++;
      }
    }
  };
  const held: Held[] = [];
  const holding = store.accounts
    .find({ reserved: { $gt: 0 } }, { projection: { holds: 1 } })
    .batchSize(BATCH);
  for await (const { _id: accountId, holds } of holding) {
    for (const [callId, { nonce }] of Object.entries(holds)) held.push({ accountId, callId, nonce });
    if (held.length >= BATCH) await dropStrays(held.splice(0));
  }
  await dropStrays(held);
  return result;
}

/** Counts holds older than ten minutes. Their workflows are still running, which an operator should investigate. */
export async function countOldHolds({ accounts }: Store): Promise<number> {
  const isOld = { $lt: ['$$hold.v.at', { $subtract: ['$$NOW', OLD_HOLD_MS] }] };
  const holds = { $filter: { input: { $objectToArray: '$holds' }, as: 'hold', cond: isOld } };
  const [sum] = await accounts
    .aggregate<{ old: number }>([
      { $match: { reserved: { $gt: 0 } } },
      { $group: { _id: null, old: { $sum: { $size: holds } } } },
    ])
    .toArray();
  return sum?.old ?? 0;
}
