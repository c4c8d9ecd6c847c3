import {
  condition,
  continueAsNew,
  executeChild,
  log,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { Pool } from '../schemas/pools.ts';
import type { QueuedJob } from '../store/jobs/jobs.ts';
import { JOB_PRIORITY, moreJobs, SEARCH_ATTRIBUTES, toolQueue, workflowIds } from './contract.ts';
import { runJob } from './runJob.ts';

/** A job whose workflow runs. */
type RunningJob = Pick<QueuedJob, 'id' | 'pool'>;

/** Rows of a batch that one activity runs, because their tools take less time than a workflow for each. */
export interface RowChunk {
  batchId: string;
  pool: Pool;
  ids: string[];
}

/** The step in MongoDB, which the orchestrator runs as a local activity. */
export interface AccountJobsActivities {
  /**
   * Returns the jobs of an account that may start now, the oldest first, and the rows that may start in chunks, which older
   * histories do not have. `running` and `chunks` are those that run, which bounds the number of the others in each pool; those of
   * `running` that have `ended` are returned, `without` are not. Deletes the histories of `forgotten` from Temporal. `isUnfinished`: many
   * rows of a batch are to be cancelled or counted, of which this step has done a part.
   */
  nextJobs(
    accountId: string,
    running: RunningJob[],
    without: string[],
    forgotten: string[],
    chunks: RowChunk[],
  ): Promise<{ jobs: QueuedJob[]; ended: string[]; chunks?: RowChunk[]; isUnfinished?: boolean }>;
}

/** The activity of pools with a lane of fast tools. */
export interface RowChunkActivities {
  /** Runs rows for about a second, those that it does not reach wait on. Can be repeated, in any process. */
  runRows(accountId: string, chunk: RowChunk): Promise<void>;
}

const { nextJobs } = proxyLocalActivities<AccountJobsActivities>({
  startToCloseTimeout: '12s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/** The workflow ends after this many milliseconds without a job. The next job starts it again. */
const IDLE_MS = 10_000;
/** Number of history events from which the workflow continues as new. */
const MAX_HISTORY_EVENTS = 2000;
/** How long such a workflow waits for its running jobs, some of which may wait for a worker for hours. */
const DRAIN_MS = 30_000;
/** Much longer than a chunk runs, which then only waits for MongoDB. */
const CHUNK_TIMEOUT = '60s';
/** As that of tools, see `callTool.ts`. */
const HEARTBEAT_TIMEOUT = '10s';
/** Milliseconds between the parts of a step that concerns many rows. */
const BETWEEN_PARTS_MS = 10;
/** Milliseconds between checks of the jobs that a previous run has started, whose end is not reported to this run. */
const INHERITED_CHECK_MS = 60_000;

function runRows(accountId: string, chunk: RowChunk): Promise<void> {
  const activities = proxyActivities<RowChunkActivities>({
    taskQueue: toolQueue(chunk.pool, 'further'),
    startToCloseTimeout: CHUNK_TIMEOUT,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
    priority: { priorityKey: JOB_PRIORITY, fairnessKey: accountId },
  });
  return activities.runRows(accountId, chunk);
}

/**
 * The queue of an account's jobs, one workflow per account: starts them in their order, a few at a time in each pool, so that an
 * account with many jobs keeps neither credits reserved nor other accounts waiting. The jobs lie in MongoDB; this workflow has
 * nothing that is not there, so that it can be terminated at any time.
 *
 * @param forgotten jobs of the previous run whose histories are to be deleted
 * @param inherited jobs of previous runs that still ran
 */
export async function accountJobs(
  accountId: string,
  forgotten: string[] = [],
  inherited: RunningJob[] = [],
): Promise<void> {
  const running = new Map(inherited.map((job) => [job.id, job]));
  const isInherited = new Set(running.keys());
  /** Jobs whose workflow failed or has run before. The sweeper ends them. */
  const left = new Set<string>();
  /** Chunks that run. One that this run does not wait for is lost; the next run finds its rows. */
  const chunks = new Set<RowChunk>();
  let hasChanged = true;
  setHandler(moreJobs, () => {
    hasChanged = true;
  });

  async function run(job: QueuedJob): Promise<void> {
    const { id, tool, pool } = job;
    running.set(id, { id, pool });
    try {
      const isKept = await executeChild(runJob, {
        workflowId: workflowIds.call(id),
        args: [job, accountId],
        parentClosePolicy: 'ABANDON',
        // A workflow that was terminated may run again: it has not ended its job.
        workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
        priority: { priorityKey: JOB_PRIORITY, fairnessKey: accountId },
        typedSearchAttributes: [
          { key: SEARCH_ATTRIBUTES.tool, value: tool },
          { key: SEARCH_ATTRIBUTES.accountId, value: accountId },
        ],
      });
      if (!isKept) forgotten.push(id);
    } catch (error) {
      left.add(id);
      log.warn('the workflow of a job did not end it; the sweeper will', { jobId: id, error });
    }
    running.delete(id);
    hasChanged = true;
  }

  async function runChunk(chunk: RowChunk): Promise<void> {
    chunks.add(chunk);
    try {
      await runRows(accountId, chunk);
    } catch (error) {
      log.warn('a chunk of rows failed; those that it has left run in another one', { error });
    }
    chunks.delete(chunk);
    hasChanged = true;
  }

  for (;;) {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (continueAsNewSuggested || historyLength > MAX_HISTORY_EVENTS) {
      // Signals to this run need not be passed on: the next run starts with `nextJobs`.
      await condition(() => running.size + chunks.size === 0, DRAIN_MS);
      return continueAsNew<typeof accountJobs>(accountId, forgotten, [...running.values()]);
    }
    hasChanged = false;
    const next = await nextJobs(accountId, [...running.values()], [...left], forgotten.splice(0), [
      ...chunks,
    ]);
    for (const id of next.ended)
      if (isInherited.delete(id)) {
        running.delete(id);
        hasChanged = true;
      }
    for (const job of next.jobs) void run(job);
    for (const chunk of next.chunks ?? []) void runChunk(chunk);
    // The timer ends the workflow task, so that the orchestrator serves other accounts between the parts.
    if (next.isUnfinished) await sleep(BETWEEN_PARTS_MS);
    else if (isInherited.size > 0) await condition(() => hasChanged, INHERITED_CHECK_MS);
    else if (running.size + chunks.size > 0) await condition(() => hasChanged);
    else if (!(await condition(() => hasChanged, IDLE_MS))) return;
  }
}
