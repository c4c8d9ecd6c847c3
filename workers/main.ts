import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { makeTelemetryFilterString, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { BrowserMetrics } from '../activities/browser/metrics.ts';
import { createDecoders } from '../activities/decoders/pool.ts';
import { openResources } from '../activities/runtime/resources.ts';
import { createThreads } from '../activities/runtime/threads.ts';
import { createGateway } from '../egress/gateway.ts';
import { createGuard, type Guard, type GuardOptions } from '../egress/guard.ts';
import { permitsIcmp } from '../egress/icmp.ts';
import { ownPorts } from '../egress/own.ts';
import { createResolver } from '../egress/resolver.ts';
import { tracedGuard } from '../egress/tracedGuard.ts';
import { queuesOf } from '../platform/healthChecks.ts';
import { createInternalServer } from '../platform/internalServer.ts';
import { drain, freePort, listen } from '../platform/listen.ts';
import { createLog, sdkLog } from '../platform/log.ts';
import { createRegistry, observeReadiness } from '../platform/metricsRegistry.ts';
import { createReadiness } from '../platform/readiness.ts';
import { addReservedPorts } from '../platform/reservedPorts.ts';
import { runMain } from '../platform/runMain.ts';
import { loadKeyring } from '../platform/secrets/keyring.ts';
import { stopSignal } from '../platform/stopSignal.ts';
import { connectClient, dataConverter, temporalServer } from '../platform/temporal/temporal.ts';
import { throwTemporalFailures } from '../platform/temporal/temporalFailures.ts';
import { traceActivities, traceSinks } from '../platform/temporal/temporalTracing.ts';
import { startTracing } from '../platform/tracing.ts';
import { type Env, EnvError, readEnv } from '../schemas/env.ts';
import { allowHost } from '../schemas/formats/allow.ts';
import { loadRegistry } from '../schemas/registry.ts';
import { createResults, mongodbPieces } from '../store/calls/results.ts';
import { countOldHolds } from '../store/calls/sweeper.ts';
import { AUDIT_TIMEOUT_MS, audit } from '../store/ledger/audit.ts';
import { createLedger } from '../store/ledger/ledger.ts';
import { ensureIndexes } from '../store/mongo/indexes.ts';
import { findWaiting } from '../store/mongo/maintenance.ts';
import { openStore, type Store } from '../store/mongo/mongo.ts';
import { mongodbCheck } from '../store/mongo/probe.ts';
import { assertMasterKeys } from '../store/secrets/masterKeys.ts';
import { createDeliveryAttempts } from '../store/webhooks/deliveryAttempts.ts';
import { type Build, createBuild } from './deployment.ts';
import { assertGateway, gatewayPieces } from './gatewayClient.ts';
import {
  observeBrowsers,
  observeDeliveries,
  observeService,
  observeTools,
  withSdkMetrics,
} from './metrics.ts';
import {
  deliversToLocalhost,
  deliveryWorker,
  ensureSchedules,
  JOB_MEMORY,
  laneSlots,
  orchestratorWorker,
  type PoolOptions,
  toolWorker,
  WORKER_POOLS,
  type WorkerPool,
} from './pools.ts';
import { noQuotes, openQuotes } from './quotes.ts';
import { createVaultClient } from './vaultClient.ts';

/**
 * Pools whose workers can run behind a gateway: their tools process content of strangers, and need no secret fields, no
 * quotes and no DNS records.
 */
const BEHIND_GATEWAY: readonly WorkerPool[] = ['browser', 'heavy'];

function mongodbUri({ MONGODB_URI }: Pick<Env, 'MONGODB_URI'>): string {
  if (MONGODB_URI === null) throw new EnvError('MONGODB_URI: must be set');
  return MONGODB_URI;
}

function chosenPool(): WorkerPool {
  const { values } = parseArgs({ options: { pool: { type: 'string' } } });
  const pool = WORKER_POOLS.find((name) => name === values.pool);
  if (pool === undefined) throw new EnvError(`--pool: must be one of ${WORKER_POOLS.join(', ')}`);
  return pool;
}

/** The method that the ping tool uses, for /readyz: `tcp` if the ping program is missing, hangs or may not send ICMP. */
const pingMethod = (): Promise<'icmp' | 'tcp'> =>
  permitsIcmp('ping', new AbortController().signal).then(
    (permitted) => (permitted ? 'icmp' : 'tcp'),
    () => 'tcp',
  );

/** Runs one worker process: connects, reports that it is ready, executes tasks until it is stopped, and cleans up. */
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
  const tracing = await startTracing(env, pool, log);
  open.defer(() => tracing.stop());
  const keyring = loadKeyring(env);
  const { GATEWAY_URL } = env;
  const isTraced = env.OTEL_EXPORTER_OTLP_ENDPOINT !== null;
  // A worker behind a gateway has no connection to MongoDB.
  const store =
    GATEWAY_URL === null
      ? open.adopt(await openStore(mongodbUri(env), undefined, isTraced), (it) => it.close())
      : null;
  const requireStore = (): Store => {
    if (store === null) throw new EnvError(`GATEWAY_URL: the pool ${pool} needs MongoDB`);
    return store;
  };
  if (!BEHIND_GATEWAY.some((name) => name === pool)) requireStore();
  // Checked before the SDK's runtime starts, because a started runtime keeps the process alive after an error.
  if (store !== null) await assertMasterKeys(store, keyring);
  const metrics = createRegistry(pool);
  // The Temporal SDK serves its metrics on a separate port.
  const sdkPort = env.SDK_METRICS_PORT || (await freePort());
  Runtime.install({
    // Stop signals are handled below, because an orchestrator with a BUILD_ID waits for its calls before it shuts down.
    shutdownSignals: [],
    logger: sdkLog(log),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      metrics: { prometheus: { bindAddress: `127.0.0.1:${sdkPort}` } },
    },
  });

  const connection = open.adopt(await NativeConnection.connect(temporalServer(env)), (it) => it.close());

  const guard = (options: GuardOptions): Guard =>
    isTraced ? tracedGuard(createGuard(options)) : createGuard(options);
  // Own ports, which the guard blocks. The internal port is added below; messages of the parent process add others.
  const blockedPorts = [...ownPorts(env), sdkPort];
  addReservedPorts(blockedPorts);
  const { build, lanes, ...options } = await (async (): Promise<PoolOptions & { build?: Build | null }> => {
    if (pool === 'orchestrator') {
      const store = requireStore();
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
        {
          countOldHolds: () => countOldHolds(store),
          findWaiting: () => findWaiting(store),
          readMaintenance: () => store.maintenance.find().toArray(),
        },
        onError,
      );
      const runAudit = async () => {
        await using owned = new AsyncDisposableStack();
        return await audit(
          owned.adopt(await openStore(mongodbUri(env), AUDIT_TIMEOUT_MS), (it) => it.close()),
        );
      };
      return {
        ...(await orchestratorWorker(store, ledger, client, env, runAudit, onSweep, onError)),
        build,
      };
    }
    const resolver = createResolver({ servers: env.DNS_SERVERS });
    if (pool === 'delivery') {
      const localhost = deliversToLocalhost(env);
      const allow = [...(localhost ? [allowHost('localhost', null)] : []), ...env.EGRESS_ALLOW];
      const egress = guard({ resolver, allow, ownPorts: blockedPorts });
      const store = requireStore();
      const attempts = createDeliveryAttempts(store);
      return deliveryWorker({
        store,
        keyring,
        attempts,
        egress,
        localhost,
        observe: observeDeliveries(metrics),
      });
    }
    const gateway = GATEWAY_URL === null ? null : createGateway(GATEWAY_URL);
    const egress = guard({ resolver, allow: env.EGRESS_ALLOW, ownPorts: blockedPorts, gateway });
    const onFault = (feed: string, error: unknown) =>
      log.warn({ feed, err: error }, 'a quote feed could not be refreshed; the last good quotes stay in use');
    const quotes = store === null ? noQuotes : openQuotes(env, store, resolver, onFault);
    const pieces = GATEWAY_URL === null ? mongodbPieces(requireStore()) : gatewayPieces(GATEWAY_URL);
    const tools = [...registry.values()].filter((tool) => tool.pool === pool).map(({ name }) => name);
    const decoders = open.adopt(
      createDecoders({
        memoryBytes: JOB_MEMORY[pool],
        programs: env.PROGRAMS_DIR,
        log: (line) => log.warn(line),
      }),
      (it) => it.close(),
    );
    const operator = {
      env,
      log: (line: string) => log.warn(line),
      observeBrowsers: (figures: BrowserMetrics) => observeBrowsers(metrics, figures),
    };
    const slots = laneSlots(pool, env.WORKER_SLOTS);
    const { first, further, fast } = slots;
    const services = {
      observe: observeTools(metrics, first + further + fast),
      log,
      results: createResults(pieces, keyring),
      openVault: createVaultClient(keyring),
      resources: open.use(await openResources(tools, operator)),
      // Slow tools hold at most `first + further` threads, so that some are left for fast ones.
      threads: open.adopt(
        createThreads(pool === 'cpu' ? 1 : 0, first + further + availableParallelism()),
        (it) => it.close(),
      ),
      offload: decoders.offload,
      context: { resolver, egress, quotes: open.adopt(quotes, (it) => it.close()) },
    };
    return toolWorker(pool, registry, services, slots);
  })();

  const workers = await Promise.all(
    (lanes ?? [options]).map((lane) =>
      Worker.create({
        ...options,
        ...lane,
        ...build?.options,
        connection,
        namespace: env.TEMPORAL_NAMESPACE,
        dataConverter: dataConverter(keyring),
        interceptors: { activity: [throwTemporalFailures, traceActivities] },
        // Registered even without a trace collector, because the SDK logs an error for each call of an unregistered sink.
        sinks: traceSinks(tracing),
      }),
    ),
  );
  let isReady = false;
  const assertReady = async () => {
    if (!isReady || workers.some((worker) => worker.getState() !== 'RUNNING'))
      throw new Error('the worker is not polling');
  };
  const readiness = createReadiness({
    ...(store === null ? {} : mongodbCheck(store)),
    ...(GATEWAY_URL === null ? {} : { gateway: (signal) => assertGateway(GATEWAY_URL, signal) }),
    worker: assertReady,
  });
  observeReadiness(metrics, readiness);
  const internal = open.adopt(
    createInternalServer({
      readiness,
      ...(pool === 'network' ? { details: { ping: await pingMethod() } } : {}),
      metrics: () => withSdkMetrics(metrics, sdkPort),
      vault: null,
    }),
    drain,
  );
  const internalUrl = await listen(internal, env.HOST, env.INTERNAL_PORT);
  blockedPorts.push(Number(new URL(internalUrl).port));
  const shutDown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  // A worker that fails ends the process, and with it the others.
  const running = Promise.all(workers.map((worker) => worker.run())).finally(shutDown);
  const stop = async () => {
    await build
      ?.untilDrained()
      .catch((error) => log.warn({ err: error }, 'stopping although calls of this build are still running'));
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
