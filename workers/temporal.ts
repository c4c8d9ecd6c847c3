import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { Env } from '../schemas/env.ts';
import type { Keyring } from '../store/keyring.ts';
import { createCodec } from './codec.ts';

/** Milliseconds for a first connection; after that the SDK reconnects by itself. */
const CONNECT_TIMEOUT_MS = 10_000;

/** The same on both sides: payloads sealed by the codec, failures too. */
export const dataConverter = (keyring: Keyring): DataConverter => ({
  payloadCodecs: [createCodec(keyring)],
  failureConverterPath: fileURLToPath(new URL('../workflows/failureConverter.ts', import.meta.url)),
});

/** `TEMPORAL_ADDRESS`, which every process but the local stack's own needs. */
export function temporalAddress(env: Pick<Env, 'TEMPORAL_ADDRESS'>): string {
  if (env.TEMPORAL_ADDRESS === null) throw new Error('TEMPORAL_ADDRESS is not set');
  return env.TEMPORAL_ADDRESS;
}

/** A client of the service's namespace. Close its connection when done. */
export async function connectClient(
  env: Pick<Env, 'TEMPORAL_ADDRESS' | 'TEMPORAL_NAMESPACE'>,
  keyring: Keyring,
): Promise<Client> {
  const connection = await Connection.connect({
    address: temporalAddress(env),
    connectTimeout: CONNECT_TIMEOUT_MS,
  });
  return new Client({ connection, namespace: env.TEMPORAL_NAMESPACE, dataConverter: dataConverter(keyring) });
}
