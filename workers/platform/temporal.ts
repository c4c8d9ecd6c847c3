import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { Env } from '../../schemas/env.ts';
import type { Keyring } from '../../store/keyring.ts';
import { createCodec } from './codec.ts';

/** Milliseconds for a first connection; after that the SDK reconnects by itself. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Between two tries to reconnect. The default grows to two minutes, for which a server that is back would be thought away. */
const RECONNECT_MS = 2000;

/** The same on both sides: payloads sealed by the codec, failures too. */
export const dataConverter = (keyring: Keyring): DataConverter => ({
  payloadCodecs: [createCodec(keyring)],
  failureConverterPath: fileURLToPath(new URL('../../workflows/failureConverter.ts', import.meta.url)),
});

/** `TEMPORAL_ADDRESS`, which every process but the local stack's own needs. */
export function temporalAddress(env: Pick<Env, 'TEMPORAL_ADDRESS'>): string {
  if (env.TEMPORAL_ADDRESS === null) throw new Error('TEMPORAL_ADDRESS is not set');
  return env.TEMPORAL_ADDRESS;
}

/**
 * A client of the service's namespace. Close its connection when done.
 *
 * @param insists whether the SDK tries requests again by itself, for up to 20 s. Such a request cannot be called off, and
 *   its next try fails uncaught when the connection was closed in between: nothing for a caller who has a deadline
 */
export async function connectClient(
  env: Pick<Env, 'TEMPORAL_ADDRESS' | 'TEMPORAL_NAMESPACE'>,
  keyring: Keyring,
  insists = true,
): Promise<Client> {
  const connection = await Connection.connect({
    address: temporalAddress(env),
    connectTimeout: CONNECT_TIMEOUT_MS,
    channelArgs: { 'grpc.max_reconnect_backoff_ms': RECONNECT_MS },
    ...(insists ? {} : { interceptors: [] }),
  });
  return new Client({ connection, namespace: env.TEMPORAL_NAMESPACE, dataConverter: dataConverter(keyring) });
}
