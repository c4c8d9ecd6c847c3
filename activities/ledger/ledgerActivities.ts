import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Ledger } from '../../store/ledger.ts';
import type { LedgerActivities } from '../../workflows/types.ts';

/** Throws after the activity's schedule-to-close timeout, which the SDK ignores between attempts of a local activity. */
function assertInTime(): void {
  const { scheduledTimestampMs, scheduleToCloseTimeoutMs } = activityInfo();
  if (Date.now() - scheduledTimestampMs > scheduleToCloseTimeoutMs)
    throw ApplicationFailure.create({
      type: 'deadline_exceeded',
      message: 'The credits could not be reserved in time; nothing was charged.',
      nonRetryable: true,
      category: 'BENIGN',
    });
}

/** Ledger steps as local activities of the orchestrator. */
export const createLedgerActivities = (ledger: Pick<Ledger, 'reserve' | 'settle'>): LedgerActivities => ({
  async reserve(call) {
    assertInTime();
    return ledger.reserve(call);
  },
  settle: (settlement) => ledger.settle(settlement),
});
