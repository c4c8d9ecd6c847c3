import { parseArgs } from 'node:util';
import { openCore } from '../platform/core.ts';
import { runMain } from '../platform/runMain.ts';
import { EnvError } from '../schemas/env.ts';
import { createWorkerCore, type WorkerCore } from './core.ts';
import { createDelivery } from './delivery.ts';
import { createOrchestrator } from './orchestrator.ts';
import { WORKER_POOLS, type WorkerPool } from './pools.ts';
import { runWorkers } from './run.ts';
import { createTools } from './tools.ts';

function chosenPool(): WorkerPool {
  const { values } = parseArgs({ options: { pool: { type: 'string' } } });
  const pool = WORKER_POOLS.find((name) => name === values.pool);
  if (pool === undefined) throw new EnvError(`--pool: must be one of ${WORKER_POOLS.join(', ')}`);
  return pool;
}

function createPool(core: WorkerCore) {
  const { pool } = core;
  if (pool === 'orchestrator') return createOrchestrator(core);
  return pool === 'delivery' ? createDelivery(core) : createTools(core, pool);
}

/** Runs one worker process: connects, reports that it is ready, executes tasks until it is stopped, and cleans up. */
async function main(): Promise<void> {
  const pool = chosenPool();
  await using opened = await openCore(pool);
  const core = await createWorkerCore(opened, pool);
  await runWorkers(core, await createPool(core));
}

await runMain(main);
