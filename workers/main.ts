import { parseArgs } from 'node:util';
import { makeTelemetryFilterString, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { BrowserMetrics } from '../activities/browser/metrics.ts';
import { createDecoders } from '../activities/decoders/pool.ts';
import { openResources } from '../activities/runtime/resources.ts';
import { createThreads } from '../activities/runtime/threads.ts';
import { createGuard } from '../egress/guard.ts';
import { ownPorts } from '../egress/own.ts';
import { createResolver } from '../egress/resolver.ts';
import { EnvError, readEnv } from '../schemas/env.ts';
import { allowHost } from '../schemas/formats/allow.ts';
import { loadRegistry } from '../schemas/registry.ts';
import { createDeliveryAttempts } from '../store/deliveryAttempts.ts';
import { ensureIndexes } from '../store/indexes.ts';
import { loadKeyring } from '../store/keyring.ts';
import { createLedger } from '../store/ledger.ts';
import { assertMasterKeys } from '../store/masterKeys.ts';
import { openStore } from '../store/mongo.ts';
import { createResults } from '../store/results.ts';
import { countOldHolds } from '../store/sweeper.ts';
import { type Build, createBuild } from './deployment.ts';
import { observeBrowsers, observeService, observeTools, withSdkMetrics } from './metrics.ts';
import { mongodbCheck, queuesOf } from './platform/healthChecks.ts';
import { createInternalServer } from './platform/internalServer.ts';
import { drain, freePort, listen } from './platform/listen.ts';
import { createLog, sdkLog } from './platform/log.ts';
import { createRegistry } from './platform/metricsRegistry.ts';
import { addReservedPorts } from './platform/reservedPorts.ts';
import { runMain } from './platform/runMain.ts';
import { connectClient, dataConverter, temporalAddress } from './platform/temporal.ts';
import {
  deliversToLocalhost,
  deliveryWorker,
  ensureSchedules,
  JOB_MEMORY,
  orchestratorWorker,
  type PoolOptions,
  SLOTS,
  toolWorker,
  WORKER_POOLS,
  type WorkerPool,
} from './pools.ts';
import { openQuotes } from './quotes.ts';
import { createVaultClient } from './vaultClient.ts';

function chosenPool(): WorkerPool {
  const { values } = parseArgs({ options: { pool: { type: 'string' } } });
  const pool = WORKER_POOLS.find((name) => name === values.pool);
  if (pool === undefined) throw new EnvError(`--pool: must be one of ${WORKER_POOLS.join(', ')}`);
  return pool;
}

/** Returns a signal that aborts on SIGINT, SIGTERM or the exit of the parent process. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  process.once('disconnect', stop);
  return stopping.signal;
}

/** Runs one worker process: connects, reports that it is ready, works until it is stopped, and closes everything. */
async function main(): Promise<void> {
  const pool = chosenPool();
  const env = readEnv();
  const stopping = stopSignal();
  const registry = await loadRegistry();
  const log = createLog(env, pool, registry);
  const onError = (error: unknown) => log.error({ err: error }, 'background write failed');
  if (env.EGRESS_ALLOW.length > 0)
    log.warn(
      { allow: env.EGRESS_ALLOW.map(({ text }) => text) },
      'EGRESS_ALLOW lets callers reach these addresses',
    );
  await using open = new AsyncDisposableStack();
  const keyring = loadKeyring(env);
  if (env.MONGODB_URI === null) throw new EnvError('MONGODB_URI: must be set');
  const store = open.adopt(await openStore(env.MONGODB_URI), (it) => it.close());
  // Before the SDK's runtime starts, which would keep a failed process alive.
  await assertMasterKeys(store, keyring);
  const metrics = createRegistry(pool);
  // The SDK serves its metrics on a separate port.
  const sdkPort = env.SDK_METRICS_PORT || (await freePort());
  Runtime.install({
    // The worker is shut down below, because a versioned orchestrator first waits for its calls.
    shutdownSignals: [],
    logger: sdkLog(log),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      metrics: { prometheus: { bindAddress: `127.0.0.1:${sdkPort}` } },
    },
  });

  const connection = open.adopt(await NativeConnection.connect({ address: temporalAddress(env) }), (it) =>
    it.close(),
  );

  // Extended below and by messages of the parent process.
  const blockedPorts = [...ownPorts(env), sdkPort];
  addReservedPorts(blockedPorts);
  const { build, ...options } = await (async (): Promise<PoolOptions & { build?: Build | null }> => {
    if (pool === 'orchestrator') {
      await ensureIndexes(store);
      const ledger = open.adopt(createLedger(store, onError), (it) => it.flush());
      const client = await connectClient(env, keyring);
      open.defer(() => client.connection.close());
      await ensureSchedules(client);
      const build = env.BUILD_ID === null ? null : createBuild(client, env.BUILD_ID);
      const onSweep = observeService(
        metrics,
        client,
        queuesOf(registry),
        () => countOldHolds(store),
        onError,
      );
      return { ...(await orchestratorWorker(store, ledger, client, env, onSweep, onError)), build };
    }
    const resolver = createResolver({ servers: env.DNS_SERVERS });
    if (pool === 'delivery') {
      const localhost = deliversToLocalhost(env);
      const allow = [...(localhost ? [allowHost('localhost', null)] : []), ...env.EGRESS_ALLOW];
      const egress = createGuard({ resolver, allow, ownPorts: blockedPorts });
      return deliveryWorker({ store, keyring, attempts: createDeliveryAttempts(store), egress, localhost });
    }
    const egress = createGuard({ resolver, allow: env.EGRESS_ALLOW, ownPorts: blockedPorts });
    const quotes = openQuotes(env, store, resolver, (feed, error) =>
      log.warn({ feed, err: error }, 'a quote feed could not be refreshed; the last good quotes stay in use'),
    );
    const tools = [...registry.values()].filter((tool) => tool.pool === pool).map(({ name }) => name);
    const decoders = open.adopt(
      createDecoders({ memoryBytes: JOB_MEMORY[pool], log: (line) => log.warn(line) }),
      (it) => it.close(),
    );
    const operator = {
      env,
      log: (line: string) => log.warn(line),
      observeBrowsers: (figures: BrowserMetrics) => observeBrowsers(metrics, figures),
    };
    return toolWorker(pool, registry, {
      observe: observeTools(metrics, SLOTS[pool]),
      log,
      results: createResults(store, keyring),
      openVault: createVaultClient(keyring),
      resources: open.use(await openResources(tools, operator)),
      threads: open.adopt(createThreads(pool === 'cpu' ? 1 : 0), (it) => it.close()),
      offload: decoders.offload,
      context: { resolver, egress, quotes: open.adopt(quotes, (it) => it.close()) },
    });
  })();

  const worker: Worker = await Worker.create({
    ...options,
    ...build?.options,
    connection,
    namespace: env.TEMPORAL_NAMESPACE,
    dataConverter: dataConverter(keyring),
  });
  let isReady = false;
  const assertReady = async () => {
    if (!isReady || worker.getState() !== 'RUNNING') throw new Error('the worker is not polling');
  };
  const internal = open.adopt(
    createInternalServer({
      checks: { ...mongodbCheck(store), worker: assertReady },
      metrics: () => withSdkMetrics(metrics, sdkPort),
      vault: null,
    }),
    drain,
  );
  const internalUrl = await listen(internal, env.HOST, env.INTERNAL_PORT);
  blockedPorts.push(Number(new URL(internalUrl).port));
  const running = worker.run();
  const shutDown = () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const stop = async () => {
    await build?.untilDrained().catch((error) => log.warn({ err: error }, 'calls of this build still run'));
    shutDown();
  };
  if (stopping.aborted) void stop();
  stopping.addEventListener('abort', () => void stop());
  try {
    await build?.makeCurrent(stopping);
    isReady = true;
    log.info({ queue: options.taskQueue, internalUrl }, 'worker is ready');
    process.send?.({ type: 'ready' });
  } catch (error) {
    shutDown();
    await running;
    if (!stopping.aborted) throw error;
  }
  await running;
}

await runMain(main);
