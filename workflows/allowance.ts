import { proxyActivities } from '@temporalio/workflow';
import type { AllowanceActivities } from './types.ts';

const { grantAllowances } = proxyActivities<AllowanceActivities>({
  startToCloseTimeout: '50m',
  heartbeatTimeout: '1m',
  // The schedule starts the workflow again within an hour, which resumes where this run stopped.
  retry: { initialInterval: '10s', maximumAttempts: 5 },
});

/** Started by a schedule: grants the outstanding allowances of this month. Returns the number of grants. */
export const allowance = (): Promise<number> => grantAllowances();
