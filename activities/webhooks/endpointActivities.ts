import type { Client } from '@temporalio/client';
import type { Store } from '../../store/mongo/mongo.ts';
import { prepareTest, resend, syncEndpoint } from '../../store/webhooks/deliveries.ts';
import { dispatchEvents, type EndpointNotifier } from '../../store/webhooks/dispatchEvents.ts';
import { WORKFLOWS, wake, webhookEndpointOptions } from '../../workflows/contract.ts';
import type { EndpointActivities } from '../../workflows/types.ts';
import type { webhookEndpoint } from '../../workflows/webhookEndpoint.ts';

/** Wakes endpoint workflows by signal, starting a workflow if it is not running. */
export const createEndpointNotifier = (client: Client, localhost: boolean): EndpointNotifier => ({
  localhost,
  async wake(endpointId) {
    await client.workflow.signalWithStart<typeof webhookEndpoint>(WORKFLOWS.webhookEndpoint, {
      ...webhookEndpointOptions(endpointId),
      signal: wake,
    });
  },
});

/** Creates the database steps of webhook endpoints, which the orchestrator runs as local activities. */
export const createEndpointActivities = (
  store: Store,
  notifier: EndpointNotifier,
  scheduleMs: readonly number[],
): EndpointActivities => ({
  async syncEndpoint(turn) {
    const state = await syncEndpoint(store, turn);
    return state === null ? null : { ...state, scheduleMs: [...scheduleMs] };
  },
  resend: (endpointId, wanted, running) => resend(store, endpointId, wanted, running),
  prepareTest: (endpointId, testId, kind) => prepareTest(store, endpointId, testId, kind),
  dispatchEvents: (accountId) => dispatchEvents(store, accountId, notifier),
});
