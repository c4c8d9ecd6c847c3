import { Worker } from '@temporalio/worker';
import { permitsIcmp } from '../egress/icmp.ts';
import { createInternalServer } from '../platform/internalServer.ts';
import { drain, listen } from '../platform/listen.ts';
import { observeReadiness } from '../platform/metricsRegistry.ts';
import { createReadiness } from '../platform/readiness.ts';
import { reportReady } from '../platform/reportReady.ts';
import { dataConverter } from '../platform/temporal/temporal.ts';
import { throwTemporalFailures } from '../platform/temporal/temporalFailures.ts';
import { traceActivities, traceSinks } from '../platform/temporal/temporalTracing.ts';
import { mongodbCheck } from '../store/mongo/probe.ts';
import type { WorkerCore } from './core.ts';
import type { Build } from './deployment.ts';
import { assertGateway } from './gatewayClient.ts';
import { withSdkMetrics } from './metrics.ts';
import type { PoolOptions } from './pools.ts';

/** The method that the ping tool uses, for /readyz: `tcp` if the ping program is missing, hangs or may not send ICMP. */
const pingMethod = (): Promise<'icmp' | 'tcp'> =>
  permitsIcmp('ping', new AbortController().signal).then(
    (permitted) => (permitted ? 'icmp' : 'tcp'),
    () => 'tcp',
  );

/** Creates a worker for each lane of a pool, or a single one. */
const createWorkers = (
  { env, keyring, connection, tracing }: WorkerCore,
  { lanes, build, startCall: _, ...options }: PoolOptions & { build?: Build | null },
): Promise<Worker[]> =>
  Promise.all(
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

/** Listens on the internal port. @returns its URL */
async function openInternalPort(
  core: WorkerCore,
  startCall: PoolOptions['startCall'],
  assertPolling: () => Promise<void>,
): Promise<string> {
  const { env, pool, store, metrics, sdkPort, open } = core;
  const { GATEWAY_URL } = env;
  const readiness = createReadiness({
    ...(store === null ? {} : mongodbCheck(store)),
    ...(GATEWAY_URL === null ? {} : { gateway: (signal) => assertGateway(GATEWAY_URL, signal) }),
    worker: assertPolling,
  });
  observeReadiness(metrics, readiness);
  const server = createInternalServer({
    readiness,
    ...(pool === 'network' ? { details: { ping: await pingMethod() } } : {}),
    metrics: () => withSdkMetrics(metrics, sdkPort),
    vault: null,
    ...(startCall !== undefined && { startCall }),
  });
  const url = await listen(open.adopt(server, drain), env.HOST, env.INTERNAL_PORT);
  core.ports.push(Number(new URL(url).port));
  return url;
}

/** Runs the workers of a process until it is stopped, and reports when they are ready. */
export async function runWorkers(
  core: WorkerCore,
  options: PoolOptions & { build?: Build | null },
): Promise<void> {
  const { log, stopping } = core;
  const { build } = options;
  const workers = await createWorkers(core, options);
  let isReady = false;
  const internalUrl = await openInternalPort(core, options.startCall, async () => {
    if (!isReady || workers.some((worker) => worker.getState() !== 'RUNNING'))
      throw new Error('the worker is not polling');
  });
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
    reportReady();
  } catch (error) {
    shutDown();
    await running;
    if (!stopping.aborted) throw error;
  }
  await running;
}
