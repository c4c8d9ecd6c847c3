import { patched, proxyActivities } from '@temporalio/workflow';
import type { Sweep } from '../store/calls/sweeper.ts';
import type { JobMaintenanceActivities, MaintenanceActivities } from './types.ts';

const { sweepLedger, sweepEvents, sweepAnswers, sweepJobs } = proxyActivities<
  MaintenanceActivities & JobMaintenanceActivities
>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '30s',
  // The schedule starts the next sweep within seconds.
  retry: { maximumAttempts: 1 },
});

/** Completes what a crash left unfinished; started by a schedule. */
export async function sweep(): Promise<Sweep> {
  // Older versions of this workflow swept less: only the ledger, then also the events, then also the answers. In replays of their runs
  // `patched` returns false.
  const others = [
    ...(patched('sweep-events') ? [sweepEvents()] : []),
    ...(patched('sweep-answers') ? [sweepAnswers()] : []),
    ...(patched('sweep-jobs') ? [sweepJobs()] : []),
  ];
  // Awaits all activities even if one fails.
  const [ledger, ...rest] = await Promise.allSettled([sweepLedger(), ...others]);
  if (ledger.status === 'rejected') throw ledger.reason;
  for (const outcome of rest) if (outcome.status === 'rejected') throw outcome.reason;
  return ledger.value;
}
