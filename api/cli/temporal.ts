import { Client, Connection } from '@temporalio/client';
import { startHandOver } from '../webhooks/startDispatch.ts';
import { type AddressedEnv, CommandError } from './addresses.ts';

const CONNECT_MS = 5000;

/**
 * Runs `use` with a client that seals nothing: it needs no master key, and what goes through it are ids.
 *
 * @throws CommandError when Temporal's address is not known, or nobody answers there
 */
export async function withTemporal<T>(env: AddressedEnv, use: (client: Client) => Promise<T>): Promise<T> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = env;
  if (address === null) throw new CommandError('TEMPORAL_ADDRESS is not set');
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_MS }).catch(
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

/** Brings the new events of an account on their way. Where that fails the sweeper does it a little later. */
export async function handOverNow(env: AddressedEnv, accountId: string): Promise<void> {
  if (env.TEMPORAL_ADDRESS === null) return;
  try {
    await withTemporal(env, (client) => startHandOver(client, accountId));
  } catch (error) {
    process.stderr.write(
      `events will be delivered later: ${error instanceof Error ? error.message : error}\n`,
    );
  }
}
