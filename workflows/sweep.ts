import { proxyActivities } from '@temporalio/workflow';
import type { Sweep } from '../store/sweeper.ts';
import type { MaintenanceActivities } from './types.ts';

const { sweepLedger } = proxyActivities<MaintenanceActivities>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '30s',
  // The schedule comes again soon enough.
  retry: { maximumAttempts: 1 },
});

/** Started by a schedule: ends what a crash left open. */
export const sweep = (): Promise<Sweep> => sweepLedger();
