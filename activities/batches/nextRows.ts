import type { Pool } from '../../schemas/pools.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import type { Batches } from '../../store/batches/batches.ts';
import type { BatchRows, QueuedRow } from '../../store/batches/batchRows.ts';
import type { QueuedJob } from '../../store/jobs/jobs.ts';

/** Milliseconds that a step may take for many rows at once; below the timeout of the activity. The sweeper continues. */
export const STEP_MS = 6000;

interface Dependencies {
  batches: Pick<Batches, 'openOf' | 'pause' | 'end'>;
  rows: Pick<BatchRows, 'queued' | 'committed' | 'hasOpen'>;
  /** Counts rows that have ended; see `countEnded`. @returns whether all are counted */
  count(batchId: string, until: number): Promise<boolean>;
  /** Cancels the rows that wait; see `cancelWaiting`. @returns whether none waits any more */
  cancelWaiting(batch: BatchDoc, until: number): Promise<boolean>;
}

/** Which rows of an account's batches start next. */
export interface NextRows {
  /**
   * Returns the rows that may start now: of the oldest batch first, in their order, and only within the credits of their batch.
   * Pauses batches that have reached `maxCredits`, and ends those of which all rows have ended.
   *
   * @param room number of rows that may start in each pool
   * @param started jobs that were started and may run, of which none is returned
   */
  next(accountId: string, room: ReadonlyMap<Pool, number>, started: readonly string[]): Promise<QueuedJob[]>;
}

/** Returns the rows at the beginning whose prices fit together. */
function fitting(rows: readonly QueuedRow[], credits: number): QueuedRow[] {
  let left = credits;
  const first = rows.findIndex(({ price }) => {
    left -= price;
    return left < 0;
  });
  return first < 0 ? [...rows] : rows.slice(0, first);
}

export function createNextRows({ batches, rows, count, cancelWaiting }: Dependencies): NextRows {
  async function waiting(
    batch: BatchDoc,
    room: ReadonlyMap<Pool, number>,
    started: readonly string[],
  ): Promise<QueuedRow[]> {
    const inPools = await Promise.all(
      batch.pools.map((pool) => rows.queued(batch, pool, room.get(pool) ?? 0, started)),
    );
    return inPools.flat().sort((a, b) => a.row - b.row);
  }

  /** Returns the rows that the limit of the batch permits, and pauses it if it permits none. */
  async function withinCredits(
    batch: BatchDoc,
    maxCredits: number,
    candidates: readonly QueuedRow[],
    started: readonly string[],
    until: number,
  ): Promise<QueuedRow[]> {
    // In this order: a row that ends in between counts twice, and never not at all.
    const committed = await rows.committed(batch, started);
    if (!(await count(batch._id, until))) return [];
    const now = (await batches.openOf(batch.accountId)).find(({ _id }) => _id === batch._id);
    if (now === undefined) return [];
    const chosen = fitting(candidates, maxCredits - now.credits - committed);
    if (candidates.length > 0 && chosen.length === 0 && committed === 0)
      await batches.pause(batch._id, 'max_credits', null);
    return chosen;
  }

  return {
    async next(accountId, room, started) {
      const until = Date.now() + STEP_MS;
      const left = new Map(room);
      const chosen: QueuedJob[] = [];
      for (const batch of await batches.openOf(accountId)) {
        if (batch.state === 'cancelling' && !(await cancelWaiting(batch, until))) continue;
        const { maxCredits } = batch;
        let next = batch.state === 'running' ? await waiting(batch, left, started) : [];
        if (maxCredits !== null && next.length > 0)
          next = await withinCredits(batch, maxCredits, next, started, until);
        for (const { pool } of next) left.set(pool, (left.get(pool) ?? 0) - 1);
        chosen.push(...next.map(({ row: _row, price: _price, ...job }) => job));
        if (next.length === 0 && !(await rows.hasOpen(batch)) && (await count(batch._id, until)))
          await batches.end(batch);
      }
      return chosen;
    },
  };
}
