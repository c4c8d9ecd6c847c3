import { heartbeat } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Ledger } from '../store/ledger.ts';
import type { Store } from '../store/mongo.ts';
import { sweep } from '../store/sweeper.ts';
import type { MaintenanceActivities } from '../workflows/types.ts';

/** True when Temporal says that the call's workflow is closed or that there is none; an error is no answer. */
async function isOver(client: Client, callId: string): Promise<boolean> {
  heartbeat();
  try {
    const { status } = await client.workflow.getHandle(callId).describe();
    return status.name !== 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}

export const createMaintenanceActivities = (
  store: Store,
  ledger: Ledger,
  client: Client,
): MaintenanceActivities => ({
  sweepLedger: () => sweep(store, ledger, (callId) => isOver(client, callId)),
});
