import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Ledger } from '../../store/ledger.ts';
import type { LedgerActivities } from '../../workflows/types.ts';

/** The SDK forgets a local activity's schedule-to-close time-out that falls between two attempts, so we look ourselves. */
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

/** The money steps, as local activities of the orchestrator. */
export const createLedgerActivities = (ledger: Pick<Ledger, 'reserve' | 'settle'>): LedgerActivities => ({
  async reserve(call) {
    assertInTime();
    return ledger.reserve(call);
  },
  settle: (settlement) => ledger.settle(settlement),
});
