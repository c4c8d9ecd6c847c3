import type { Client } from '@temporalio/client';
import { retryUntilAborted } from '../../platform/temporal/retryUntilAborted.ts';
import type { advanceSchedule } from '../../workflows/advanceSchedule.ts';
import { advanceScheduleOptions, moreRuns, WORKFLOWS } from '../../workflows/contract.ts';

const TIMEOUT_MS = 5000;

/**
 * Creates the function that has the runs of a schedule started, in the background.
 *
 * @param onError receives the errors of requests that could not be sent; the sweeper then finds the runs
 */
export function createAdvance(
  client: Client,
  onError: (error: unknown) => void,
): (scheduleId: string, accountId: string) => void {
  return (scheduleId, accountId) => {
    const options = { ...advanceScheduleOptions(scheduleId, accountId), signal: moreRuns };
    const send = () =>
      client.workflow.signalWithStart<typeof advanceSchedule>(WORKFLOWS.advanceSchedule, options);
    retryUntilAborted(client, send, AbortSignal.timeout(TIMEOUT_MS)).catch(onError);
  };
}
