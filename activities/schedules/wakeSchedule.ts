import type { Client } from '@temporalio/client';
import type { advanceSchedule } from '../../workflows/advanceSchedule.ts';
import { advanceScheduleOptions, moreRuns, WORKFLOWS } from '../../workflows/contract.ts';

/** Has the runs of a schedule ended whose batches have ended, and the next ones started. */
export async function wakeSchedule(client: Client, scheduleId: string, accountId: string): Promise<void> {
  const options = { ...advanceScheduleOptions(scheduleId, accountId), signal: moreRuns };
  await client.workflow.signalWithStart<typeof advanceSchedule>(WORKFLOWS.advanceSchedule, options);
}
