import { patched, proxyActivities } from '@temporalio/workflow';
import type { Sweep } from '../store/sweeper.ts';
import type { MaintenanceActivities } from './types.ts';

const { sweepLedger, sweepEvents } = proxyActivities<MaintenanceActivities>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '30s',
  // The schedule comes again soon enough.
  retry: { maximumAttempts: 1 },
});

/** Started by a schedule: ends what a crash left open. */
export async function sweep(): Promise<Sweep> {
  // A run that an older version began swept the ledger alone.
  const events = patched('sweep-events') ? sweepEvents() : undefined;
  const swept = await sweepLedger();
  await events;
  return swept;
}
