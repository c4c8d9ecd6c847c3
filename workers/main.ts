import { parseArgs } from 'node:util';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createThreads } from '../activities/threads.ts';
import { createInternalServer } from '../api/internal.ts';
import { drain, listen } from '../api/listen.ts';
import { runMain } from '../api/runMain.ts';
import { createGuard } from '../egress/guard.ts';
import { ownPorts } from '../egress/own.ts';
import { createResolver } from '../egress/resolver.ts';
import { EnvError, readEnv } from '../schemas/env.ts';
import { loadRegistry } from '../schemas/registry.ts';
import { loadKeyring } from '../store/keyring.ts';
import { createLedger } from '../store/ledger.ts';
import { ensureIndexes, openStore } from '../store/mongo.ts';
import { createResults } from '../store/results.ts';
import { mongodbCheck } from './health.ts';
import { createLog, sdkLog } from './log.ts';
import {
  ensureSweepSchedule,
  orchestratorWorker,
  toolWorker,
  WORKER_POOLS,
  type WorkerPool,
} from './pools.ts';
import { connectClient, dataConverter, temporalAddress } from './temporal.ts';
import { createVaultClient } from './vaultClient.ts';

function chosenPool(): WorkerPool {
  const { values } = parseArgs({ options: { pool: { type: 'string' } } });
  const pool = WORKER_POOLS.find((name) => name === values.pool);
  if (pool === undefined) throw new EnvError(`--pool: want one of ${WORKER_POOLS.join(', ')}`);
  return pool;
}

/** One worker process: connects, says that it is ready, works until it is told to stop, and leaves nothing open. */
async function main(): Promise<void> {
  const pool = chosenPool();
  const env = readEnv();
  const registry = await loadRegistry();
  const log = createLog(env, pool, registry);
  const onError = (error: unknown) => log.error({ err: error }, 'background write failed');
  Runtime.install({ shutdownSignals: ['SIGINT', 'SIGTERM'], logger: sdkLog(log) });

  await using open = new AsyncDisposableStack();
  const keyring = loadKeyring(env);
  if (env.MONGODB_URI === null) throw new EnvError('MONGODB_URI: not set');
  const store = open.adopt(await openStore(env.MONGODB_URI), (it) => it.close());
  const connection = open.adopt(await NativeConnection.connect({ address: temporalAddress(env) }), (it) =>
    it.close(),
  );

  const options = await (async () => {
    if (pool === 'orchestrator') {
      await ensureIndexes(store);
      const ledger = open.adopt(createLedger(store, onError), (it) => it.flush());
      const client = await connectClient(env, keyring);
      open.defer(() => client.connection.close());
      await ensureSweepSchedule(client);
      return orchestratorWorker(store, ledger, client, onError);
    }
    const resolver = createResolver({ servers: env.DNS_SERVERS });
    const egress = createGuard({ resolver, allow: env.EGRESS_ALLOW, ownPorts: ownPorts(env) });
    return toolWorker(pool, registry, {
      results: createResults(store, keyring),
      openVault: createVaultClient(keyring),
      threads: open.adopt(createThreads(pool === 'cpu' ? 1 : 0), (it) => it.close()),
      context: { resolver, egress },
    });
  })();

  const worker: Worker = await Worker.create({
    ...options,
    connection,
    namespace: env.TEMPORAL_NAMESPACE,
    dataConverter: dataConverter(keyring),
  });
  const polls = async () => {
    if (worker.getState() !== 'RUNNING') throw new Error('not polling');
  };
  const internal = open.adopt(createInternalServer({ ...mongodbCheck(store), worker: polls }, null), drain);
  const internalUrl = await listen(internal, env.HOST, env.INTERNAL_PORT);
  process.once('disconnect', () => {
    if (worker.getState() === 'RUNNING') worker.shutdown(); // whoever started us is gone
  });
  log.info({ queue: options.taskQueue, internalUrl }, 'worker is ready');
  const running = worker.run();
  process.send?.({ type: 'ready' });
  await running;
}

await runMain(main);
