import { heartbeat } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type Channel, findLeftovers, handOver } from '../store/handOver.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Store } from '../store/mongo.ts';
import { type Sweep, sweep } from '../store/sweeper.ts';
import type { MaintenanceActivities } from '../workflows/types.ts';
import { workflowIdOf } from './endpoints.ts';

/** True when Temporal says that the workflow is closed or that there is none; an error is no answer. */
async function isOver(client: Client, workflowId: string): Promise<boolean> {
  heartbeat();
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
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
  channel: Channel,
  onSweep: (sweep: Sweep) => void,
): MaintenanceActivities => ({
  async sweepLedger() {
    const swept = await sweep(store, ledger, (callId) => isOver(client, callId));
    onSweep(swept);
    return swept;
  },

  async sweepEvents() {
    const { accounts, endpoints } = await findLeftovers(store);
    for (const accountId of accounts) {
      heartbeat();
      await handOver(store, accountId, channel);
    }
    // One whose workflow runs is being waited with.
    for (const endpointId of endpoints)
      if (await isOver(client, workflowIdOf(endpointId))) await channel.wake(endpointId);
  },
});
