import { heartbeat, log } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { type Sweep, sweep } from '../../store/calls/sweeper.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { createDeliveries, type EndpointNotifier, findLeftovers } from '../../store/webhooks/events.ts';
import { workflowIds } from '../../workflows/contract.ts';
import type { MaintenanceActivities } from '../../workflows/types.ts';
import { endStrandedCalls } from './strandedCalls.ts';

/** Whether Temporal reports the workflow as closed or not found. @throws other errors of Temporal */
async function isClosed(client: Client, workflowId: string): Promise<boolean> {
  heartbeat();
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    return status.name !== 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}

/** Requests the cancellation of a call's workflow, as the API does when the caller disconnects. */
async function cancelCall(client: Client, callId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowIds.call(callId)).cancel();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

export const createMaintenanceActivities = (
  store: Store,
  ledger: Ledger,
  client: Client,
  notifier: EndpointNotifier,
  onSweep: (sweep: Sweep) => void,
  isVersioned: boolean,
): MaintenanceActivities => ({
  async sweepLedger() {
    if (isVersioned) await endStrandedCalls(client, heartbeat);
    const swept = await sweep(store, ledger, (callId) => isClosed(client, callId));
    onSweep(swept);
    return swept;
  },

  async sweepEvents() {
    const { accounts, endpoints } = await findLeftovers(store);
    for (const accountId of accounts) {
      heartbeat();
      await createDeliveries(store, accountId, notifier);
    }
    // Skips endpoints whose workflow is still running.
    for (const endpointId of endpoints)
      if (await isClosed(client, workflowIds.webhookEndpoint(endpointId))) await notifier.wake(endpointId);
  },

  async sweepAnswers() {
    const paybacks = createPaybacks({ store, ledger, accounts: createAccounts(store) });
    const swept = await paybacks.sweep((callId) => cancelCall(client, callId), heartbeat);
    if (swept.cancelled + swept.refunded > 0)
      log.warn('cancelled or refunded calls whose result was not delivered', { ...swept });
  },
});
