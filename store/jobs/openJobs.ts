import type { Store } from '../mongo/mongo.ts';
import type { JobDoc } from './jobDocs.ts';

/** Age from which jobs and callbacks that have not moved count as left by a crash; longer than any of their steps takes. */
const LEFTOVER_AFTER_MS = 15_000;
const BATCH = 500;

/** Jobs whose workflow may have ended without them. */
interface OpenJobs {
  /** Accounts with jobs that wait. */
  accounts: string[];
  /** Jobs that run, each in a workflow of its own. */
  running: Pick<JobDoc, '_id' | 'accountId'>[];
  /** Jobs with a callback that is due, and such callbacks of batches and schedules. */
  callbacks: Pick<JobDoc, '_id' | 'accountId'>[];
}

/** Finds jobs and callbacks that have not moved for a while. */
export async function findOpenJobs({
  jobs,
  batchCallbacks,
  scheduleCallbacks,
}: Pick<Store, 'jobs' | 'batchCallbacks' | 'scheduleCallbacks'>): Promise<OpenJobs> {
  const ago = { $lt: new Date(Date.now() - LEFTOVER_AFTER_MS) };
  const projection = { accountId: 1 } as const;
  const [accounts, running, ofJobs, ofBatches, ofSchedules] = await Promise.all([
    jobs.distinct('accountId', { state: 'queued', batchId: { $exists: false }, createdAt: ago }),
    jobs
      .find({ state: 'running', startedAt: ago, inChunk: { $exists: false } }, { projection })
      .limit(BATCH)
      .toArray(),
    jobs.find({ 'callback.state': 'pending', 'callback.nextAt': ago }, { projection }).limit(BATCH).toArray(),
    batchCallbacks.find({ state: 'pending', nextAt: ago }, { projection }).limit(BATCH).toArray(),
    scheduleCallbacks.find({ state: 'pending', nextAt: ago }, { projection }).limit(BATCH).toArray(),
  ]);
  return { accounts, running, callbacks: [...ofJobs, ...ofBatches, ...ofSchedules] };
}

/** Whether a job is a row that runs in a chunk. The queue of its account then ends it, although it has no workflow. */
export const isInChunk = async ({ jobs }: Pick<Store, 'jobs'>, jobId: string): Promise<boolean> =>
  (await jobs.findOne(
    { _id: jobId, state: 'running', inChunk: { $exists: true } },
    { projection: { _id: 1 } },
  )) !== null;
