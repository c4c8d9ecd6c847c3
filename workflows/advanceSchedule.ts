import {
  continueAsNew,
  isCancellation,
  log,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { COMPARISON_POOL, JOB_PRIORITY, moreRuns, toolQueue } from './contract.ts';
import type { ComparedResult, Comparison, ComparisonActivities, ScheduleActivities } from './types.ts';

const { startScheduledRuns, endComparedRun } = proxyLocalActivities<ScheduleActivities>({
  // Long enough to store the rows of a batch.
  startToCloseTimeout: '30s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/** Number of history events from which the workflow continues as new. */
const MAX_HISTORY_EVENTS = 1000;

/** Has a worker compare the result of a run, after all calls that wait. @returns null if it cannot */
async function compare(comparison: Comparison): Promise<ComparedResult | null> {
  const { compareResult } = proxyActivities<ComparisonActivities>({
    taskQueue: toolQueue(COMPARISON_POOL, 'further'),
    startToCloseTimeout: '60s',
    scheduleToCloseTimeout: '10m',
    retry: { maximumAttempts: 3 },
    priority: { priorityKey: JOB_PRIORITY, fairnessKey: comparison.accountId },
  });
  try {
    return await compareResult(comparison);
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.warn('pictures are compared by their bytes', { runId: comparison.runId, error });
    return null;
  }
}

/**
 * Moves the runs of a schedule on: compares the results of those that have ended, and starts those whose turn it is. Requests that
 * add runs start it; the sweeper repeats the step for those whose start was lost.
 */
export async function advanceSchedule(scheduleId: string): Promise<void> {
  let more = false;
  setHandler(moreRuns, () => {
    more = true;
  });
  for (;;) {
    more = false;
    const comparisons = await startScheduledRuns(scheduleId);
    for (const comparison of comparisons) await endComparedRun(comparison, await compare(comparison));
    // If a signal arrives after this check, the Temporal server rejects the completion of the workflow and repeats
    // the workflow task.
    if (!more && comparisons.length === 0) return;
    if (workflowInfo().historyLength > MAX_HISTORY_EVENTS)
      return continueAsNew<typeof advanceSchedule>(scheduleId);
  }
}
