import { POOL_TABLE, type Pool } from '../../schemas/pools.ts';
import { deleteStored } from '../calls/results.ts';
import type { JobDoc } from '../jobs/jobDocs.ts';
import { JOB_WAIT_MS, OPEN_JOBS, type QueuedJob } from '../jobs/jobs.ts';
import type { Store } from '../mongo/mongo.ts';
import { insertAllOnce } from '../mongo/mongo.ts';
import type { BatchDoc } from './batchDocs.ts';
import { type NewBatch, STORED_MS } from './batches.ts';

/** A checked row of a batch. Either its input is stored, or it is sealed in the document of the row. */
export type NewRow = Pick<
  JobDoc,
  '_id' | 'tool' | 'policy' | 'input' | 'sealedInput' | 'fileId' | 'reuse'
> & {
  row: number;
  rowId: string | null;
};

/** The documents of the rows of batches. */
export interface BatchRows {
  /** Stores rows of a batch that is being created. Can be repeated. */
  insert(batch: NewBatch, rows: readonly NewRow[]): Promise<void>;
  /** Deletes the rows of a batch that is not opened, then the batch. Changes nothing if it was opened. Can be repeated. */
  discard(batchId: string): Promise<void>;
  /** Returns up to `count` rows that wait for this pool, in their order; in pools with a lane of fast tools, up to `CHUNK_ROWS`. */
  queued(batch: BatchDoc, pool: Pool, count: number, without: readonly string[]): Promise<QueuedRow[]>;
  /** Returns the sum of the prices of the rows that run, and of those of `started` that have not ended. */
  committed(batch: BatchDoc, started: readonly string[]): Promise<number>;
  /** Whether rows of the batch wait or run. */
  hasOpen(batch: BatchDoc): Promise<boolean>;
  /** Returns up to `CHUNK_ROWS` rows that run in a chunk which may be lost, because it is none of `started`. */
  leftInChunks(batch: BatchDoc, started: readonly string[]): Promise<Pick<QueuedRow, 'id' | 'pool'>[]>;
  /**
   * Lets rows run in a chunk: those that wait, if the batch runs (`fresh`), and those that another attempt or chunk has left
   * (`left`), whose calls may have begun. Can be repeated. @param claimId unique for each call
   */
  claim(
    batchId: string,
    ids: readonly string[],
    claimId: string,
  ): Promise<{ fresh: JobDoc[]; left: JobDoc[] }>;
  /** Lets fresh rows wait again whose calls have not begun. Leaves those that have been claimed again. */
  release(rows: readonly JobDoc[]): Promise<void>;
  /**
   * Puts a row that has started, but did not run, back into the queue: as another row in its place, because its call has ended
   * without a charge. Can be repeated. @param sealInput seals its small input for the new id
   */
  replace(row: JobDoc, replacement: Pick<JobDoc, '_id' | 'input' | 'sealedInput'>): Promise<void>;
}

/** A row that waits. */
export interface QueuedRow extends QueuedJob {
  row: number;
  price: number;
  /** Whether it runs in a chunk. */
  inChunk: boolean;
}

/** Maximum number of rows that run as one chunk: those of about a second. */
export const CHUNK_ROWS = 500;

/**
 * Whether a row runs together with others, in one activity: if its tool takes milliseconds and can run twice, in a worker with
 * access to the ledger. Rows whose input is stored apart, because it is large, run alone, so that a chunk needs little memory.
 */
const runsInChunk = ({ input, policy: { isFast, actsOnWorld, pool } }: Pick<JobDoc, 'input' | 'policy'>) =>
  isFast === true && !actsOnWorld && input === null && POOL_TABLE[pool].fastLane === true;

const DELETED_AT_ONCE = 500;

export function createBatchRows({ jobs, batches, results, transaction }: Store): BatchRows {
  return {
    async insert({ _id: batchId, accountId, keyId, keyPrefix, requestId, baseUrl, createdAt }, rows) {
      const documents = rows.map(
        (row): JobDoc => ({
          ...row,
          batchId,
          accountId,
          keyId,
          keyPrefix,
          requestId,
          baseUrl,
          createdAt,
          metadata: null,
          callback: null,
          state: 'queued',
          startedAt: null,
          endedAt: null,
          charged: 0,
          code: null,
          result: null,
          expiresAt: new Date(createdAt.getTime() + STORED_MS),
        }),
      );
      await insertAllOnce(jobs, documents);
    },

    async discard(batchId) {
      // From here on it cannot be opened.
      const { matchedCount } = await batches.updateOne(
        { _id: batchId, state: { $in: ['creating', 'discarding'] } },
        { $set: { state: 'discarding' } },
      );
      if (matchedCount === 0) return;
      for (;;) {
        const rows = await jobs
          .find({ batchId }, { projection: { input: 1 } })
          .limit(DELETED_AT_ONCE)
          .toArray();
        for (const { input } of rows) if (input !== null) await deleteStored({ results }, input);
        if (rows.length === 0) break;
        await jobs.deleteMany({ _id: { $in: rows.map(({ _id }) => _id) } });
      }
      await batches.deleteOne({ _id: batchId, state: 'discarding' });
    },

    async queued({ _id: batchId, accountId }, pool, count, without) {
      if (count <= 0) return [];
      const rows = await jobs
        .find({ accountId, batchId, state: 'queued', 'policy.pool': pool, _id: { $nin: [...without] } })
        .sort({ createdAt: 1, row: 1 })
        .project<Pick<JobDoc, '_id' | 'tool' | 'row' | 'policy' | 'input'>>({
          tool: 1,
          row: 1,
          policy: 1,
          input: 1,
        })
        .limit(POOL_TABLE[pool].fastLane === true ? CHUNK_ROWS : count)
        .toArray();
      const waitsUntil = Date.now() + JOB_WAIT_MS;
      return rows.map(({ _id: id, tool, row = 0, policy, input }) => ({
        id,
        tool,
        pool,
        isRow: true,
        waitsUntil,
        row,
        price: policy.price,
        inChunk: runsInChunk({ policy, input }),
      }));
    },

    async committed({ _id: batchId, accountId }, started) {
      const [sum] = await jobs
        .aggregate<{ price: number }>([
          {
            $match: {
              accountId,
              batchId,
              $or: [{ state: 'running' }, { state: 'queued', _id: { $in: [...started] } }],
            },
          },
          { $group: { _id: null, price: { $sum: '$policy.price' } } },
        ])
        .toArray();
      return sum?.price ?? 0;
    },

    hasOpen: async ({ _id: batchId, accountId }) =>
      (await jobs.findOne(
        { accountId, batchId, state: { $in: [...OPEN_JOBS] } },
        { projection: { _id: 1 } },
      )) !== null,

    async leftInChunks({ _id: batchId, accountId }, started) {
      const rows = await jobs
        .find(
          { accountId, batchId, state: 'running', inChunk: { $exists: true }, _id: { $nin: [...started] } },
          { projection: { 'policy.pool': 1 } },
        )
        .limit(CHUNK_ROWS)
        .toArray();
      return rows.map(({ _id: id, policy: { pool } }) => ({ id, pool }));
    },

    async claim(batchId, ids, claimId) {
      const inChunk = { state: 'running', inChunk: { $exists: true } } as const;
      const [before, batch] = await Promise.all([
        jobs.find({ _id: { $in: [...ids] }, ...inChunk }, { projection: { _id: 1 } }).toArray(),
        batches.findOne({ _id: batchId, state: 'running' }, { projection: { _id: 1 } }),
      ]);
      const leftIds = before.map(({ _id }) => _id);
      const left = { _id: { $in: leftIds }, ...inChunk };
      const waiting = { _id: { $in: [...ids] }, state: 'queued' } as const;
      await jobs.updateMany(batch === null ? left : { $or: [left, waiting] }, [
        {
          $set: {
            state: 'running',
            startedAt: { $cond: [{ $eq: ['$state', 'queued'] }, '$$NOW', '$startedAt'] },
            inChunk: claimId,
          },
        },
      ]);
      const claimed = await jobs
        .find({ _id: { $in: [...ids] }, state: 'running', inChunk: claimId })
        .sort({ row: 1 })
        .toArray();
      const isLeft = new Set(leftIds);
      return {
        fresh: claimed.filter(({ _id }) => !isLeft.has(_id)),
        left: claimed.filter(({ _id }) => isLeft.has(_id)),
      };
    },

    async release(rows) {
      const [row] = rows;
      if (row?.inChunk === undefined) return;
      await jobs.updateMany(
        { _id: { $in: rows.map(({ _id }) => _id) }, state: 'running', inChunk: row.inChunk },
        { $set: { state: 'queued', startedAt: null }, $unset: { inChunk: '' } },
      );
    },

    replace: ({ inChunk: _, ...row }, replacement) =>
      transaction(async (session) => {
        const open = { _id: row._id, state: { $in: [...OPEN_JOBS] } };
        const { deletedCount } = await jobs.deleteOne(open, { session });
        // It has ended, or was replaced before.
        if (deletedCount === 0) return;
        await jobs.insertOne({ ...row, ...replacement, state: 'queued', startedAt: null }, { session });
      }),
  };
}
