import {
  condition,
  continueAsNew,
  executeChild,
  log,
  proxyLocalActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { QueuedJob } from '../store/jobs/jobs.ts';
import { JOB_PRIORITY, moreJobs, SEARCH_ATTRIBUTES, workflowIds } from './contract.ts';
import { runJob } from './runJob.ts';

/** A job whose workflow runs. */
export type RunningJob = Pick<QueuedJob, 'id' | 'pool'>;

/** The step in MongoDB, which the orchestrator runs as a local activity. */
export interface AccountJobsActivities {
  /**
   * Returns the jobs of an account that may start now, the oldest first. `running` are those that run, which bounds the number
   * of the others in each pool, and of which those that have `ended` are returned; `without` are not returned. Deletes the
   * histories of `forgotten` from Temporal.
   */
  nextJobs(
    accountId: string,
    running: RunningJob[],
    without: string[],
    forgotten: string[],
  ): Promise<{ jobs: QueuedJob[]; ended: string[] }>;
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
/** Milliseconds between checks of the jobs that a previous run has started, whose end is not reported to this run. */
const INHERITED_CHECK_MS = 60_000;

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

  for (;;) {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (continueAsNewSuggested || historyLength > MAX_HISTORY_EVENTS) {
      // Signals to this run need not be passed on: the next run starts with `nextJobs`.
      await condition(() => running.size === 0, DRAIN_MS);
      return continueAsNew<typeof accountJobs>(accountId, forgotten, [...running.values()]);
    }
    hasChanged = false;
    const next = await nextJobs(accountId, [...running.values()], [...left], forgotten.splice(0));
    for (const id of next.ended)
      if (isInherited.delete(id)) {
        running.delete(id);
        hasChanged = true;
      }
    for (const job of next.jobs) void run(job);
    if (isInherited.size > 0) await condition(() => hasChanged, INHERITED_CHECK_MS);
    else if (running.size > 0) await condition(() => hasChanged);
    else if (!(await condition(() => hasChanged, IDLE_MS))) return;
  }
}
