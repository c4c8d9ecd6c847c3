import { proxyActivities } from '@temporalio/workflow';
import type { AuditActivities } from './types.ts';

const { auditLedger } = proxyActivities<AuditActivities>({
  startToCloseTimeout: '50m',
  heartbeatTimeout: '1m',
  // The schedule starts the next audit within an hour.
  retry: { initialInterval: '30s', maximumAttempts: 3 },
});

/** Started by a schedule: recomputes every account. Returns the number of differences. */
export const audit = (): Promise<number> => auditLedger();
