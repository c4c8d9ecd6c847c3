import type { Client } from '@temporalio/client';
import { createBackgroundDispatch } from '../../platform/temporal/startDispatch.ts';
import type { Env } from '../../schemas/env.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { createDeliveries, deliversToLocalhost, type EndpointNotifier } from '../../store/webhooks/events.ts';
import { createEndpointWorkflow } from './endpointWorkflow.ts';

/**
 * Returns how an API process dispatches the events that it stores, in the background.
 *
 * @param onError receives the errors of dispatches; the sweeper then finds their events
 */
export function createEventDispatch(
  store: Store,
  client: Client,
  env: Pick<Env, 'NODE_ENV'>,
  onError: (error: unknown) => void,
): (accountId: string) => void {
  const { wake } = createEndpointWorkflow(client);
  const notifier: EndpointNotifier = { wake, localhost: deliversToLocalhost(env) };
  return createBackgroundDispatch(client, onError, (accountId) =>
    createDeliveries(store, accountId, notifier),
  );
}
