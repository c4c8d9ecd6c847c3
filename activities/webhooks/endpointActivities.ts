import type { Client } from '@temporalio/client';
import { prepareTest, resend, takeTurn } from '../../store/deliveries.ts';
import { type Channel, handOver } from '../../store/handOver.ts';
import type { Store } from '../../store/mongo.ts';
import type { EndpointActivities } from '../../workflows/types.ts';

export const workflowIdOf = (endpointId: string): string => `webhook-${endpointId}`;

/** Wakes endpoint workflows by signal, starting a workflow if it is not running. */
export const createChannel = (client: Client, localhost: boolean): Channel => ({
  localhost,
  async wake(endpointId) {
    await client.workflow.signalWithStart('webhookEndpoint', {
      workflowId: workflowIdOf(endpointId),
      taskQueue: 'orchestrator',
      args: [endpointId],
      priority: { fairnessKey: endpointId },
      signal: 'wake',
      signalArgs: [],
    });
  },
});

/** Database steps of the webhook endpoints as local activities of the orchestrator. */
export const createEndpointActivities = (
  store: Store,
  channel: Channel,
  scheduleMs: readonly number[],
): EndpointActivities => ({
  async takeTurn(turn) {
    const state = await takeTurn(store, turn);
    return state === null ? null : { ...state, scheduleMs: [...scheduleMs] };
  },
  resend: (endpointId, wanted) => resend(store, endpointId, wanted),
  prepareTest: (endpointId, testId) => prepareTest(store, endpointId, testId),
  handOver: (accountId) => handOver(store, accountId, channel),
});
