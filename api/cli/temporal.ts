import { Client, Connection } from '@temporalio/client';
import { createEndpointWorkflow, type EndpointWorkflow } from '../webhooks/endpointWorkflow.ts';
import { startDispatch } from '../webhooks/startDispatch.ts';
import { type AddressedEnv, CommandError } from './addresses.ts';

const CONNECT_TIMEOUT_MS = 5000;

/**
 * Runs `use` with a client without the payload codec: it needs no master key because it sends only ids.
 *
 * @throws CommandError when TEMPORAL_ADDRESS is not set or no server answers there
 */
async function withTemporal<T>(env: AddressedEnv, use: (client: Client) => Promise<T>): Promise<T> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = env;
  if (address === null) throw new CommandError('TEMPORAL_ADDRESS is not set');
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS }).catch(
    (error: unknown) => {
      throw new CommandError(`Temporal at ${address} does not answer`, { cause: error });
    },
  );
  try {
    return await use(new Client({ connection, namespace }));
  } finally {
    await connection.close();
  }
}

/** Runs `use` with the operations of webhook endpoints' workflows. @throws CommandError like `withTemporal` */
export const withEndpointWorkflow = <T>(
  env: AddressedEnv,
  use: (workflow: EndpointWorkflow) => Promise<T>,
): Promise<T> => withTemporal(env, (client) => use(createEndpointWorkflow(client)));

/** Dispatches an account's new events. On failure it prints a warning; the sweeper dispatches them later. */
export async function dispatchEventsNow(env: AddressedEnv, accountId: string): Promise<void> {
  if (env.TEMPORAL_ADDRESS === null) return;
  try {
    await withTemporal(env, (client) => startDispatch(client, accountId));
  } catch (error) {
    process.stderr.write(
      `events will be delivered later: ${error instanceof Error ? error.message : error}\n`,
    );
  }
}
