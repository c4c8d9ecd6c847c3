import { proxyActivities } from '@temporalio/workflow';
import type { AllowanceActivities } from './types.ts';

const { grantAllowances } = proxyActivities<AllowanceActivities>({
  startToCloseTimeout: '50m',
  heartbeatTimeout: '1m',
  // If all attempts fail, the schedule starts the workflow again within an hour, and the new run grants what is still
  // outstanding.
  retry: { initialInterval: '10s', maximumAttempts: 5 },
});

/** Grants the outstanding allowances of the current month; started by a schedule. Returns the number of grants. */
export const allowance = (): Promise<number> => grantAllowances();
