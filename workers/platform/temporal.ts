import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { Env } from '../../schemas/env.ts';
import type { Keyring } from '../../store/keyring.ts';
import { createCodec } from './codec.ts';
import { traceWorkflowStarts } from './temporalTracing.ts';

/** Timeout in milliseconds of the first connection. After that, the SDK reconnects by itself. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Maximum pause between attempts to reconnect. gRPC's default of two minutes would prolong an outage by up to as much. */
const RECONNECT_MS = 2000;

/** Data converter of clients and workers: encrypts payloads and failures with the codec. */
export const dataConverter = (keyring: Keyring): DataConverter => ({
  payloadCodecs: [createCodec(keyring)],
  failureConverterPath: fileURLToPath(new URL('../../workflows/failureConverter.ts', import.meta.url)),
});

/** Returns `TEMPORAL_ADDRESS`, which every process requires except the one that starts the local stack. */
export function temporalAddress(env: Pick<Env, 'TEMPORAL_ADDRESS'>): string {
  if (env.TEMPORAL_ADDRESS === null) throw new Error('TEMPORAL_ADDRESS is not set');
  return env.TEMPORAL_ADDRESS;
}

/**
 * Connects a Temporal client for the service's namespace. The caller must close the client's connection.
 *
 * @param retries whether the SDK retries requests by itself, for up to 20 s. Requests that the SDK retries cannot be
 *   aborted, and a retry after the connection was closed causes an unhandled rejection, so callers with a deadline pass
 *   false
 */
export async function connectClient(
  env: Pick<Env, 'TEMPORAL_ADDRESS' | 'TEMPORAL_NAMESPACE'>,
  keyring: Keyring,
  retries = true,
): Promise<Client> {
  const connection = await Connection.connect({
    address: temporalAddress(env),
    connectTimeout: CONNECT_TIMEOUT_MS,
    channelArgs: { 'grpc.max_reconnect_backoff_ms': RECONNECT_MS },
    ...(retries ? {} : { interceptors: [] }),
  });
  return new Client({
    connection,
    namespace: env.TEMPORAL_NAMESPACE,
    dataConverter: dataConverter(keyring),
    interceptors: { workflow: [traceWorkflowStarts] },
  });
}
