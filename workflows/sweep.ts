import { patched, proxyActivities } from '@temporalio/workflow';
import type { Sweep } from '../store/sweeper.ts';
import type { MaintenanceActivities } from './types.ts';

const { sweepLedger, sweepEvents, sweepAnswers } = proxyActivities<MaintenanceActivities>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '30s',
  // The schedule comes again soon enough.
  retry: { maximumAttempts: 1 },
});

/** Started by a schedule: ends what a crash left open. */
export async function sweep(): Promise<Sweep> {
  // A run that an older version began swept the ledger alone, or the ledger and the events.
  const others = [
    ...(patched('sweep-events') ? [sweepEvents()] : []),
    ...(patched('sweep-answers') ? [sweepAnswers()] : []),
  ];
  // One that fails must not keep the others from being awaited.
  const [ledger, ...rest] = await Promise.allSettled([sweepLedger(), ...others]);
  if (ledger.status === 'rejected') throw ledger.reason;
  for (const outcome of rest) if (outcome.status === 'rejected') throw outcome.reason;
  return ledger.value;
}
