import { ApplicationFailure, proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import type { ScheduleActivities } from './types.ts';

const { addScheduledRun } = proxyLocalActivities<ScheduleActivities>({
  // Long enough to store the rows of a batch.
  startToCloseTimeout: '30s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/** `workflowIds.scheduleFiring` with the time that Temporal appends: that of the schedule, not that of the start. */
const ID = /^fire-(.+)-(\d+)-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/;

/** Adds the run of a schedule for a time, and starts it if it is its turn. The clock of the schedule starts this workflow. */
export async function fireSchedule(): Promise<void> {
  const [, scheduleId, version, dueAt] = ID.exec(workflowInfo().workflowId) ?? [];
  if (scheduleId === undefined || dueAt === undefined)
    throw ApplicationFailure.nonRetryable('the workflow was not started by a clock');
  await addScheduledRun(scheduleId, dueAt, Number(version));
}
