import { proxyLocalActivities } from '@temporalio/workflow';
import type { EndpointActivities } from './types.ts';

const activities = proxyLocalActivities<EndpointActivities>({
  startToCloseTimeout: '12s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/** Brings the new events of an account on their way. Started after whatever made one, with nobody waiting for it. */
export const handOver = (accountId: string): Promise<void> => activities.handOver(accountId);
