import { makeTelemetryFilterString, NativeConnection, Runtime, TransportError } from '@temporalio/worker';
import { createGuard, type Guard, type GuardOptions } from '../egress/guard.ts';
import { ownPorts } from '../egress/own.ts';
import { tracedGuard } from '../egress/tracedGuard.ts';
import type { Core } from '../platform/core.ts';
import { freePort } from '../platform/listen.ts';
import { sdkLog } from '../platform/log.ts';
import { addReservedPorts } from '../platform/reservedPorts.ts';
import { retryStart } from '../platform/retryStart.ts';
import { type Keyring, loadKeyring } from '../platform/secrets/keyring.ts';
import { temporalServer } from '../platform/temporal/temporal.ts';
import { EnvError } from '../schemas/env.ts';
import { isPool, POOL_TABLE } from '../schemas/pools.ts';
import { connectStore } from '../store/mongo/connectStore.ts';
import type { Store } from '../store/mongo/mongo.ts';
import { assertMasterKeys } from '../store/secrets/masterKeys.ts';
import type { WorkerPool } from './pools.ts';

/** What every worker process is made from. */
export interface WorkerCore extends Core {
  readonly pool: WorkerPool;
  readonly keyring: Keyring;
  /** Null behind a gateway, where a worker has no connection to MongoDB. */
  readonly store: Store | null;
  /** @throws EnvError if the worker has no connection to MongoDB */
  requireStore(): Store;
  readonly connection: NativeConnection;
  /** Port of the metrics of the Temporal SDK. */
  readonly sdkPort: number;
  /** Ports of the installation, to which the egress guard permits no connection; grows while the process starts. */
  readonly ports: number[];
  createGuard(options: Omit<GuardOptions, 'ownPorts'>): Guard;
}

/** Connects a worker to MongoDB, unless it is behind a gateway, and to Temporal. @throws EnvError */
export async function createWorkerCore(core: Core, pool: WorkerPool): Promise<WorkerCore> {
  const { env, log, open, isTraced } = core;
  if (env.EGRESS_ALLOW.length > 0)
    log.warn(
      { allow: env.EGRESS_ALLOW.map(({ text }) => text) },
      'EGRESS_ALLOW lets callers reach these addresses',
    );
  const keyring = loadKeyring(env);
  if (env.GATEWAY_URL !== null && !(isPool(pool) && POOL_TABLE[pool].confined))
    throw new EnvError(`GATEWAY_URL: the pool ${pool} needs MongoDB`);
  // Opened before the SDK's runtime starts, because a started runtime keeps the process alive after an error.
  const store =
    env.GATEWAY_URL === null ? await connectStore(core, (it) => assertMasterKeys(it, keyring)) : null;
  // The Temporal SDK serves its metrics on a separate port.
  const sdkPort = env.SDK_METRICS_PORT || (await freePort());
  Runtime.install({
    // Stop signals are handled by the process, because an orchestrator with a BUILD_ID waits for its calls before it shuts down.
    shutdownSignals: [],
    logger: sdkLog(log),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      metrics: { prometheus: { bindAddress: `127.0.0.1:${sdkPort}` } },
    },
  });
  const server = temporalServer(env);
  const isUnavailable = (error: unknown) => error instanceof TransportError;
  const connection = await retryStart(core, 'temporal', isUnavailable, () =>
    NativeConnection.connect(server),
  );
  open.defer(() => connection.close());
  // Messages of the parent process add further ports.
  const ports = [...ownPorts(env), sdkPort];
  addReservedPorts(ports);
  return {
    ...core,
    pool,
    keyring,
    store,
    requireStore() {
      if (store === null) throw new EnvError(`GATEWAY_URL: the pool ${pool} needs MongoDB`);
      return store;
    },
    connection,
    sdkPort,
    ports,
    createGuard(options) {
      const guard = createGuard({ ...options, ownPorts: ports });
      return isTraced ? tracedGuard(guard) : guard;
    },
  };
}
