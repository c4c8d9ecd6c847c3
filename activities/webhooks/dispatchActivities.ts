import type { Client } from '@temporalio/client';
import type { Store } from '../../store/mongo/mongo.ts';
import { createDeliveries, type EndpointNotifier } from '../../store/webhooks/events.ts';
import { WORKFLOWS, wake, webhookEndpointOptions } from '../../workflows/contract.ts';
import type { DispatchActivities } from '../../workflows/dispatchEvents.ts';
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

/** Creates the database step of dispatches, which the orchestrator runs as a local activity. */
export const createDispatchActivities = (store: Store, notifier: EndpointNotifier): DispatchActivities => ({
  dispatchEvents: (accountId) => createDeliveries(store, accountId, notifier),
});
