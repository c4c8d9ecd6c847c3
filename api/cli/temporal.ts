import { Client, Connection } from '@temporalio/client';
import { startDispatch } from '../../platform/temporal/startDispatch.ts';
import { temporalServer } from '../../platform/temporal/temporal.ts';
import { createEndpointWorkflow, type EndpointWorkflow } from '../webhooks/endpointWorkflow.ts';
import { type AddressedEnv, CommandError } from './addresses.ts';

const CONNECT_TIMEOUT_MS = 5000;

/**
 * Runs `use` with a Temporal client that has no payload codec. The client needs no master key, because it sends only
 * ids.
 *
 * @throws CommandError if TEMPORAL_ADDRESS is not set or no server responds at this address
 */
async function withTemporal<T>(env: AddressedEnv, use: (client: Client) => Promise<T>): Promise<T> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = env;
  if (address === null) throw new CommandError('TEMPORAL_ADDRESS is not set');
  const connection = await Connection.connect({
    ...temporalServer(env),
    connectTimeout: CONNECT_TIMEOUT_MS,
  }).catch((error: unknown) => {
    throw new CommandError(`Temporal at ${address} does not answer`, { cause: error });
  });
  try {
    return await use(new Client({ connection, namespace }));
  } finally {
    await connection.close();
  }
}

/** Runs `use` with the operations on the workflows of webhook endpoints. @throws CommandError as `withTemporal` */
export const withEndpointWorkflow = <T>(
  env: AddressedEnv,
  use: (workflow: EndpointWorkflow) => Promise<T>,
): Promise<T> => withTemporal(env, (client) => use(createEndpointWorkflow(client)));

/** Starts the dispatch of an account's events. If that fails, it prints a warning, and the sweeper finds the events later. */
export async function startDispatchOrWarn(env: AddressedEnv, accountId: string): Promise<void> {
  if (env.TEMPORAL_ADDRESS === null) return;
  try {
    await withTemporal(env, (client) => startDispatch(client, accountId));
  } catch (error) {
    process.stderr.write(
      `events of this change will be delivered later: ${error instanceof Error ? error.message : error}\n`,
    );
  }
}
