import { JOB_KEPT_HOURS, JOB_WAIT_HOURS, type JobState, MAX_OPEN_JOBS } from '../../schemas/jobs.ts';
import type { Pool } from '../../schemas/pools.ts';
import type { ReusedResult } from '../calls/callDocs.ts';
import { IDEMPOTENCY_MS } from '../calls/calls.ts';
import type { ResultReference } from '../calls/results.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import { historyEntry, SENDABLE, sentAgain } from './callbacks.ts';
import type { AttemptedCallback, JobDoc } from './jobDocs.ts';

const HOUR_MS = 3_600_000;
export const JOB_WAIT_MS = JOB_WAIT_HOURS * HOUR_MS;
export const JOB_KEPT_MS = JOB_KEPT_HOURS * HOUR_MS;

/** The fields of an accepted job; `create` sets the others. */
interface NewJob
  extends Omit<
    JobDoc,
    | 'callback'
    | 'state'
    | 'startedAt'
    | 'endedAt'
    | 'charged'
    | 'code'
    | 'result'
    | 'idempotency'
    | 'expiresAt'
    | 'sealedInput'
    | 'batchId'
    | 'row'
    | 'rowId'
    | 'seq'
    | 'uncounted'
    | 'inChunk'
    | 'sha256'
    | 'reused'
  > {
  callbackUrl: string | null;
  idempotency: { key: string; fingerprint: string } | null;
}

/** How a job ended. */
export type JobEnd =
  | {
      state: 'succeeded';
      charged: number;
      result: ResultReference;
      sha256?: string;
      reused?: ReusedResult;
    }
  | { state: 'failed' | 'cancelled'; code: string; result: ResultReference | null; keepsKey: boolean };

/** Selects jobs of an account that are not rows of batches. `tools`: only jobs of these tools; null: of all. */
interface JobFilter {
  state?: JobState | undefined;
  tools: readonly string[] | null;
}

/** A job that waits in the queue of its account. */
export interface QueuedJob {
  id: string;
  tool: string;
  pool: Pool;
  /** Whether it is a row of a batch. */
  isRow?: true;
  /** Until when it can wait for a worker; epoch milliseconds. */
  waitsUntil: number;
}

/**
 * The jobs of accounts, and the rows of batches, which only `find`, `openOf`, `start`, `end` and `endAll` concern. Each change of state is one
 * conditional update, so that a job ends once.
 */
export interface Jobs {
  /** Inserts a job, or returns the earlier job with its Idempotency-Key. Can be repeated. */
  create(job: NewJob): Promise<{ job: JobDoc; created: boolean }>;
  find(accountId: string, id: string): Promise<JobDoc | null>;
  findByKey(accountId: string, key: string): Promise<JobDoc | null>;
  list(accountId: string, filter: JobFilter, page: PageRequest): Promise<Page<JobDoc>>;
  /** Counts the jobs of the account that wait or run, up to `MAX_OPEN_JOBS`. */
  countOpen(accountId: string): Promise<number>;
  /** Returns up to `count` jobs of an account that wait for this pool, the oldest first. */
  queued(accountId: string, pool: Pool, count: number, without: readonly string[]): Promise<QueuedJob[]>;
  /** Returns those of these jobs that have not ended. */
  openOf(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Marks a job as running; no-op if it is. @returns null if it has ended */
  start(id: string): Promise<JobDoc | null>;
  /**
   * Ends a job, once. @param from the states in which it ends; default: all in which it has not ended
   * @returns the job as it has ended, now or before; null if it has not ended or does not exist
   */
  end(id: string, end: JobEnd, from?: readonly JobState[]): Promise<JobDoc | null>;
  /** Ends jobs that have not ended, each as `end` does. */
  endAll(ends: readonly { id: string; end: JobEnd }[]): Promise<void>;
  /** Records an attempt of the callback, once. */
  callbackAttempted(id: string, attempt: AttemptedCallback): Promise<void>;
  /** Queues the callback again. @returns false if there is none, or the job has not ended */
  sendCallbackAgain(id: string): Promise<boolean>;
}

/** The states in which a job has not ended. */
export const OPEN_JOBS: readonly JobState[] = ['queued', 'running'];
/** Selects jobs that are not rows of batches. */
const SINGLE = { batchId: { $exists: false } } as const;

const IS_ROW = { $eq: [{ $type: '$batchId' }, 'string'] };

/** The update that ends a job in one of these states. */
const endingOf = (id: string, end: JobEnd, from: readonly JobState[]) => ({
  filter: { _id: id, state: { $in: [...from] } },
  update: [
    {
      $set: {
        state: end.state,
        endedAt: '$$NOW',
        // A row is kept as long as its batch.
        expiresAt: { $cond: [IS_ROW, '$expiresAt', { $add: ['$$NOW', JOB_KEPT_MS] }] },
        uncounted: { $cond: [IS_ROW, true, '$$REMOVE'] },
        inChunk: '$$REMOVE',
        sealedInput: '$$REMOVE',
        result: { $literal: end.result },
        code: end.state === 'succeeded' ? null : { $literal: end.code },
        charged: end.state === 'succeeded' ? end.charged : 0,
        ...(end.state === 'succeeded' && end.sha256 !== undefined && { sha256: end.sha256 }),
        ...(end.state === 'succeeded' && end.reused !== undefined && { reused: { $literal: end.reused } }),
        callback: {
          $cond: [
            { $eq: [{ $type: '$callback' }, 'object'] },
            { $mergeObjects: ['$callback', { state: 'pending', nextAt: '$$NOW' }] },
            null,
          ],
        },
        ...(end.state !== 'succeeded' && !end.keepsKey && { idempotency: '$$REMOVE' }),
      },
    },
  ],
});

export function createJobs({ jobs }: Pick<Store, 'jobs'>): Jobs {
  const unexpired = () => ({ expiresAt: { $gt: new Date() } });

  async function findByKey(accountId: string, key: string): Promise<JobDoc | null> {
    return jobs.findOne({
      accountId,
      'idempotency.key': key,
      'idempotency.expiresAt': { $gt: new Date() },
    });
  }

  return {
    findByKey,

    async create({ callbackUrl, idempotency, ...newJob }) {
      const { createdAt, accountId } = newJob;
      const row: JobDoc = {
        ...newJob,
        callback:
          callbackUrl === null
            ? null
            : {
                url: callbackUrl,
                state: 'waiting',
                attempts: 0,
                statusCode: null,
                error: null,
                nextAt: null,
              },
        state: 'queued',
        startedAt: null,
        endedAt: null,
        charged: 0,
        code: null,
        result: null,
        ...(idempotency !== null && {
          idempotency: { ...idempotency, expiresAt: new Date(createdAt.getTime() + IDEMPOTENCY_MS) },
        }),
        expiresAt: new Date(createdAt.getTime() + JOB_WAIT_MS + JOB_KEPT_MS),
      };
      for (;;) {
        try {
          const job = await jobs.findOneAndUpdate(
            { _id: row._id },
            { $setOnInsert: row },
            { upsert: true, returnDocument: 'after' },
          );
          if (job === null) throw new Error(`job ${row._id} was not inserted`);
          return { job, created: true };
        } catch (error) {
          if (!isDuplicate(error) || idempotency === null) throw error;
        }
        const earlier = await findByKey(accountId, idempotency.key);
        if (earlier !== null) return { job: earlier, created: false };
        await jobs.updateOne(
          {
            accountId,
            'idempotency.key': idempotency.key,
            'idempotency.expiresAt': { $lte: new Date() },
          },
          { $unset: { idempotency: '' } },
        );
      }
    },

    find: (accountId, id) => jobs.findOne({ _id: id, accountId, ...unexpired() }),

    list: (accountId, { state, tools }, page) =>
      pageByTime(
        'jobs',
        (condition) =>
          jobs.find({
            accountId,
            ...SINGLE,
            ...unexpired(),
            ...(state !== undefined && { state }),
            ...(tools !== null && { tool: { $in: [...tools] } }),
            ...condition,
          }),
        'createdAt',
        page,
      ),

    countOpen: (accountId) =>
      jobs.countDocuments({ accountId, ...SINGLE, state: { $in: [...OPEN_JOBS] } }, { limit: MAX_OPEN_JOBS }),

    async queued(accountId, pool, count, without) {
      if (count <= 0) return [];
      const rows = await jobs
        .find({ accountId, ...SINGLE, state: 'queued', 'policy.pool': pool, _id: { $nin: [...without] } })
        .sort({ createdAt: 1 })
        .limit(count)
        .toArray();
      return rows.map(({ _id: id, tool, createdAt }) => ({
        id,
        tool,
        pool,
        waitsUntil: createdAt.getTime() + JOB_WAIT_MS,
      }));
    },

    async openOf(ids) {
      if (ids.length === 0) return new Set();
      const open = { _id: { $in: [...ids] }, state: { $in: [...OPEN_JOBS] } };
      const rows = await jobs.find(open, { projection: { _id: 1 } }).toArray();
      return new Set(rows.map(({ _id }) => _id));
    },

    start: (id) =>
      jobs.findOneAndUpdate(
        { _id: id, state: { $in: [...OPEN_JOBS] } },
        [{ $set: { state: 'running', startedAt: { $ifNull: ['$startedAt', '$$NOW'] } } }],
        { returnDocument: 'after' },
      ),

    async end(id, end, from = OPEN_JOBS) {
      const { filter, update } = endingOf(id, end, from);
      const ended = await jobs.findOneAndUpdate(filter, update, { returnDocument: 'after' });
      return ended ?? jobs.findOne({ _id: id, endedAt: { $ne: null } });
    },

    async endAll(ends) {
      if (ends.length === 0) return;
      const updates = ends.map(({ id, end }) => ({ updateOne: endingOf(id, end, OPEN_JOBS) }));
      await jobs.bulkWrite(updates, { ordered: false });
    },

    async callbackAttempted(id, attempt) {
      const set = Object.entries(attempt).map(([field, value]) => [`callback.${field}`, value]);
      await jobs.updateOne(
        { _id: id, 'callback.state': 'pending', 'callback.attempts': { $lt: attempt.attempts } },
        { $set: Object.fromEntries(set), $push: { 'callback.history': historyEntry(attempt) } },
      );
    },

    async sendCallbackAgain(id) {
      const sent = await jobs.updateOne({ _id: id, 'callback.state': { $in: [...SENDABLE] } }, [
        { $set: sentAgain('callback.') },
      ]);
      return sent.matchedCount > 0;
    },
  };
}
