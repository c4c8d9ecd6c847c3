import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type TLSConfig } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { type Env, EnvError } from '../../schemas/env.ts';
import type { Core } from '../core.ts';
import { retryStart } from '../retryStart.ts';
import type { Keyring } from '../secrets/keyring.ts';
import { createCodec } from './codec.ts';
import { traceWorkflowStarts } from './temporalTracing.ts';

/** Timeout in milliseconds of the first connection. After that, the SDK reconnects by itself. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Maximum pause between attempts to reconnect. gRPC's default of two minutes would prolong an outage by up to as much. */
const RECONNECT_MS = 2000;

/** Whether a first connection can succeed later; the errors of an unreachable server have neither a type nor a code. */
const isUnavailable = (error: unknown): boolean => !(error instanceof EnvError);

/** Data converter of clients and workers: encrypts payloads and failures with the codec. */
export const dataConverter = (keyring: Keyring): DataConverter => ({
  payloadCodecs: [createCodec(keyring)],
  failureConverterPath: fileURLToPath(new URL('../../workflows/failureConverter.ts', import.meta.url)),
});

type TlsFiles =
  | 'TEMPORAL_TLS_SERVER_CA_CERT_PATH'
  | 'TEMPORAL_TLS_CLIENT_CERT_PATH'
  | 'TEMPORAL_TLS_CLIENT_KEY_PATH';

/** The variables that say how to connect to Temporal. Without those of TLS, the connection is not encrypted. */
type TemporalEnv = Pick<Env, 'TEMPORAL_ADDRESS'> & Partial<Pick<Env, TlsFiles | 'TEMPORAL_TLS_SERVER_NAME'>>;

/** Options of `Connection.connect` and `NativeConnection.connect`. */
interface Server {
  address: string;
  tls?: TLSConfig;
}

/**
 * Returns the address of Temporal, which every process requires except the one that starts the local stack, and its TLS
 * options. The files of the certificates are read once; restart the process to use new ones.
 *
 * @throws EnvError with one line that names the variable that is missing, or whose file cannot be read
 */
export function temporalServer(env: TemporalEnv): Server {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_TLS_SERVER_NAME: serverName = null } = env;
  if (address === null) throw new EnvError('TEMPORAL_ADDRESS: must be set');
  const read = (name: TlsFiles): Buffer | null => {
    const path = env[name] ?? null;
    if (path === null) return null;
    try {
      return readFileSync(path);
    } catch (error) {
      throw new EnvError(`${name}: cannot read the file`, { cause: error });
    }
  };
  const ca = read('TEMPORAL_TLS_SERVER_CA_CERT_PATH');
  const crt = read('TEMPORAL_TLS_CLIENT_CERT_PATH');
  const key = read('TEMPORAL_TLS_CLIENT_KEY_PATH');
  if (ca === null && crt === null) return { address };
  return {
    address,
    tls: {
      ...(ca === null ? {} : { serverRootCACertificate: ca }),
      ...(crt === null || key === null ? {} : { clientCertPair: { crt, key } }),
      ...(serverName === null ? {} : { serverNameOverride: serverName }),
    },
  };
}

/**
 * Connects a Temporal client for the service's namespace. The caller must close the client's connection.
 *
 * @param retries whether the SDK retries requests by itself, for up to 20 s. Requests that the SDK retries cannot be
 *   aborted, and a retry after the connection was closed causes an unhandled rejection, so callers with a deadline pass
 *   false
 */
export async function connectClient(
  env: TemporalEnv & Pick<Env, 'TEMPORAL_NAMESPACE'>,
  keyring: Keyring,
  retries = true,
): Promise<Client> {
  const connection = Connection.lazy({
    ...temporalServer(env),
    connectTimeout: CONNECT_TIMEOUT_MS,
    channelArgs: { 'grpc.max_reconnect_backoff_ms': RECONNECT_MS },
    ...(retries ? {} : { interceptors: [] }),
  });
  try {
    await connection.ensureConnected();
  } catch (error) {
    await connection.close();
    throw error;
  }
  return new Client({
    connection,
    namespace: env.TEMPORAL_NAMESPACE,
    dataConverter: dataConverter(keyring),
    interceptors: { workflow: [traceWorkflowStarts] },
  });
}

/** Connects the client of a process that starts, which closes it at its end. @param retries as of `connectClient` */
export async function openClient(core: Core, keyring: Keyring, retries: boolean): Promise<Client> {
  const client = await retryStart(core, 'temporal', isUnavailable, () =>
    connectClient(core.env, keyring, retries),
  );
  core.open.defer(() => client.connection.close());
  return client;
}
