import type { Ledger } from './ledger.ts';
import type { CallDoc, Store } from './mongo.ts';

/** What one sweep did. */
export interface Sweep {
  /** Calls whose workflow had ended or never began. */
  ended: number;
  /** Holds given back that a late reservation had left. */
  strayHolds: number;
}

interface Held {
  accountId: string;
  callId: string;
  nonce: string;
}

/** Younger calls are left alone: their workflow may not have begun yet. */
const LEAVE_ALONE_MS = 25_000;
const OLD_HOLD_MS = 600_000;
const BATCH = 500;
/** After an outage many calls are open at once, and each end of one mostly waits for the disk. */
const ENDED_AT_ONCE = 20;

/**
 * Ends what a crash left open. `isOver(callId)` asks Temporal: true only when it says that the workflow is closed or
 * unknown; it throws when it cannot tell, and then nothing is touched.
 */
export async function sweep(
  store: Store,
  ledger: Ledger,
  isOver: (callId: string) => Promise<boolean>,
): Promise<Sweep> {
  const result: Sweep = { ended: 0, strayHolds: 0 };
  const before = new Date(Date.now() - LEAVE_ALONE_MS);

  const end = async ({ _id: callId, accountId, actsOnWorld }: CallDoc): Promise<void> => {
    if (!(await isOver(callId))) return;
    await ledger.settle({ callId, accountId, wanted: 'refunded', code: 'internal', release: !actsOnWorld });
    result.ended++;
  };
  const running = await store.calls
    .find({ state: 'running', touchedAt: { $lt: before } })
    .limit(BATCH)
    .toArray();
  while (running.length > 0) {
    const ending = running.splice(0, ENDED_AT_ONCE).map(end);
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

/** Holds older than ten minutes: their workflows still run, and somebody should look why. */
export async function countOldHolds({ accounts }: Store): Promise<number> {
  const before = new Date(Date.now() - OLD_HOLD_MS);
  const isOld = { $lt: ['$$hold.v.at', before] };
  const holds = { $filter: { input: { $objectToArray: '$holds' }, as: 'hold', cond: isOld } };
  const [sum] = await accounts
    .aggregate<{ old: number }>([
      { $match: { reserved: { $gt: 0 } } },
      { $group: { _id: null, old: { $sum: { $size: holds } } } },
    ])
    .toArray();
  return sum?.old ?? 0;
}
