import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Ledger } from '../../store/ledger/ledger.ts';
import type { LedgerActivities } from '../../workflows/types.ts';

/** Throws after the activity's schedule-to-close timeout, which the SDK ignores between attempts of a local activity. */
function assertInTime(): void {
  const { scheduledTimestampMs, scheduleToCloseTimeoutMs } = activityInfo();
  if (Date.now() - scheduledTimestampMs > scheduleToCloseTimeoutMs)
    throw ApplicationFailure.create({
      type: 'deadline_exceeded',
      message:
        'The credits could not be reserved in time, so the tool did not run. Nothing was charged. Try again.',
      nonRetryable: true,
      category: 'BENIGN',
    });
}

/** Creates the ledger steps, which the orchestrator runs as local activities. */
export const createLedgerActivities = (ledger: Pick<Ledger, 'reserve' | 'settle'>): LedgerActivities => ({
  async reserve(call) {
    assertInTime();
    return ledger.reserve(call);
  },
  settle: ledger.settle,
});
