import type { Ledger } from './ledger.ts';
import type { Store } from './mongo.ts';

/** What one sweep did. */
export interface Sweep {
  /** Calls whose workflow had ended or never began. */
  ended: number;
  /** Holds given back that a late reservation had left. */
  strayHolds: number;
}

/** Younger calls are left alone: their workflow may not have begun yet. */
const LEAVE_ALONE_MS = 25_000;
const OLD_HOLD_MS = 600_000;
const BATCH = 500;

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

  const running = store.calls.find({ state: 'running', touchedAt: { $lt: before } }).limit(BATCH);
  for await (const call of running) {
    if (!(await isOver(call._id))) continue;
    const release = !call.actsOnWorld;
    const { _id: callId, accountId } = call;
    await ledger.settle({ callId, accountId, wanted: 'refunded', code: 'internal', release });
    result.ended++;
  }

  const holding = store.accounts
    .find({ reserved: { $gt: 0 } }, { projection: { holds: 1 } })
    .batchSize(BATCH);
  for await (const { _id: accountId, holds } of holding) {
    const rows = await store.calls
      .find({ _id: { $in: Object.keys(holds) } }, { projection: { state: 1 } })
      .toArray();
    const states = new Map(rows.map((row) => [row._id, row.state]));
    for (const [callId, hold] of Object.entries(holds)) {
      const state = states.get(callId);
      const stray = state === undefined ? await isOver(callId) : state !== 'running';
      if (stray) {
        await ledger.dropStrayHold(accountId, callId, hold.nonce);
        result.strayHolds++;
      }
    }
  }
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
