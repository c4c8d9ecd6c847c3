import { proxyActivities } from '@temporalio/workflow';
import type { AuditActivities } from './types.ts';

const { auditLedger } = proxyActivities<AuditActivities>({
  startToCloseTimeout: '50m',
  heartbeatTimeout: '1m',
  // If all attempts fail, the schedule starts the next audit within an hour.
  retry: { initialInterval: '30s', maximumAttempts: 3 },
});

/** Recomputes every account from its ledger entries; started by a schedule. Returns the number of differences. */
export const audit = (): Promise<number> => auditLedger();
