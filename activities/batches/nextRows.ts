import type { Pool } from '../../schemas/pools.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import type { Batches } from '../../store/batches/batches.ts';
import type { BatchRows, QueuedRow } from '../../store/batches/batchRows.ts';
import type { QueuedJob } from '../../store/jobs/jobs.ts';
import type { RowChunk } from '../../workflows/accountJobs.ts';

/**
 * Milliseconds in which a step begins to cancel or count further rows. A step is part of a workflow task, which keeps one of the few
 * slots of the orchestrator for as long, and the queue starts nothing of the account meanwhile.
 */
const STEP_MS = 1000;

interface Dependencies {
  batches: Pick<Batches, 'openOf' | 'pause' | 'end'>;
  rows: Pick<BatchRows, 'queued' | 'committed' | 'hasOpen' | 'leftInChunks'>;
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
   * @param room number of jobs and chunks that may start in each pool
   * @param started jobs that were started and may run, alone or in a chunk, of which none is returned
   * @param withChunk pools in which a chunk of the account runs; there is one at a time
   * @returns the rows that run alone, those that run in chunks, and whether rows are left to cancel or to count
   */
  next(
    accountId: string,
    room: ReadonlyMap<Pool, number>,
    started: readonly string[],
    withChunk: readonly Pool[],
  ): Promise<{ alone: QueuedJob[]; chunks: RowChunk[]; isUnfinished: boolean }>;
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
    withChunk: ReadonlySet<Pool>,
  ): Promise<QueuedRow[]> {
    const inPools = await Promise.all(
      batch.pools.map(async (pool) => {
        const places = room.get(pool) ?? 0;
        const found = await rows.queued(batch, pool, places, started);
        const together = withChunk.has(pool) || places <= 0 ? [] : found.filter(({ inChunk }) => inChunk);
        const alone = found.filter(({ inChunk }) => !inChunk);
        return [...together, ...alone.slice(0, Math.max(0, places - Math.min(1, together.length)))];
      }),
    );
    return inPools.flat().sort((a, b) => a.row - b.row);
  }

  /** Returns the rows that the limit of the batch permits, and pauses it if it permits none. Null: rows are left to count. */
  async function withinCredits(
    batch: BatchDoc,
    maxCredits: number,
    candidates: readonly QueuedRow[],
    started: readonly string[],
    until: number,
  ): Promise<QueuedRow[] | null> {
    // In this order: a row that ends in between counts twice, and never not at all.
    const committed = await rows.committed(batch, started);
    if (!(await count(batch._id, until))) return null;
    const now = (await batches.openOf(batch.accountId)).find(({ _id }) => _id === batch._id);
    if (now === undefined) return [];
    const chosen = fitting(candidates, maxCredits - now.credits - committed);
    if (candidates.length > 0 && chosen.length === 0 && committed === 0)
      await batches.pause(batch._id, 'max_credits', null);
    return chosen;
  }

  return {
    async next(accountId, room, started, chunkPools) {
      const until = Date.now() + STEP_MS;
      const left = new Map(room);
      const withChunk = new Set(chunkPools);
      const alone: QueuedJob[] = [];
      const chunks: RowChunk[] = [];
      let isUnfinished = false;
      /** Adds a chunk for each pool of these rows, unless one runs there. */
      const addChunks = (batchId: string, chosen: readonly Pick<QueuedRow, 'id' | 'pool'>[]): void => {
        for (const [pool, inPool] of Map.groupBy(chosen, (row) => row.pool)) {
          if (withChunk.has(pool)) continue;
          withChunk.add(pool);
          left.set(pool, (left.get(pool) ?? 0) - 1);
          chunks.push({ batchId, pool, ids: inPool.map(({ id }) => id) });
        }
      };
      for (const batch of await batches.openOf(accountId)) {
        addChunks(batch._id, await rows.leftInChunks(batch, started));
        if (batch.state === 'cancelling' && !(await cancelWaiting(batch, until))) {
          isUnfinished = true;
          continue;
        }
        const { maxCredits } = batch;
        const found = batch.state === 'running' ? await waiting(batch, left, started, withChunk) : [];
        const next =
          maxCredits !== null && found.length > 0
            ? await withinCredits(batch, maxCredits, found, started, until)
            : found;
        if (next === null) {
          isUnfinished = true;
          continue;
        }
        addChunks(
          batch._id,
          next.filter(({ inChunk }) => inChunk),
        );
        for (const { row: _row, price: _price, inChunk, ...job } of next) {
          if (inChunk) continue;
          left.set(job.pool, (left.get(job.pool) ?? 0) - 1);
          alone.push(job);
        }
        if (next.length > 0 || (await rows.hasOpen(batch))) continue;
        if (await count(batch._id, until)) await batches.end(batch);
        else isUnfinished = true;
      }
      return { alone, chunks, isUnfinished };
    },
  };
}
