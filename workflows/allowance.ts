import { proxyActivities } from '@temporalio/workflow';
import type { AllowanceActivities } from './types.ts';

const { grantAllowances } = proxyActivities<AllowanceActivities>({
  startToCloseTimeout: '50m',
  heartbeatTimeout: '1m',
  // The schedule comes again in an hour, and goes on where this stopped.
  retry: { initialInterval: '10s', maximumAttempts: 5 },
});

/** Started by a schedule: grants the allowances of this month that were not granted yet. Answers how many those were. */
export const allowance = (): Promise<number> => grantAllowances();
