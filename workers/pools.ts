import { availableParallelism } from 'node:os';
import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import { BROWSERS } from '../activities/browser/resource.ts';
import { createAllowanceActivities } from '../activities/ledger/allowanceActivities.ts';
import { createLedgerActivities } from '../activities/ledger/ledgerActivities.ts';
import { createMaintenanceActivities } from '../activities/ledger/maintenanceActivities.ts';
import { createToolActivities, type ToolServices } from '../activities/runtime/toolActivities.ts';
import {
  createDeliveryActivities,
  type DeliveryServices,
} from '../activities/webhooks/deliveryActivities.ts';
import {
  createEndpointActivities,
  createEndpointNotifier,
} from '../activities/webhooks/endpointActivities.ts';
import type { Env } from '../schemas/env.ts';
import type { Registry } from '../schemas/registry.ts';
import { POOLS, type Pool } from '../schemas/tool.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Store } from '../store/mongo.ts';
import type { Sweep } from '../store/sweeper.ts';
import { TASK_QUEUES, toolQueue, WORKFLOWS } from '../workflows/contract.ts';
import { loadWorkflowBundle } from './bundle.ts';

/** Every kind of worker process: the orchestrator of workflows and money, webhook deliveries, and the pools of tools. */
export const WORKER_POOLS = ['orchestrator', 'delivery', ...POOLS] as const;
export type WorkerPool = (typeof WORKER_POOLS)[number];

/** Calls a worker of each pool runs at once: what it really has, cores for the one, sockets for the other. */
export const SLOTS: Record<Pool, number> = {
  browser: BROWSERS,
  cpu: availableParallelism(),
  network: 100,
  heavy: Math.max(1, Math.floor(availableParallelism() / 2)),
};

/**
 * Bytes that one job on a caller's file may allocate, in each of the processes, at most one a core, that a worker starts for
 * them. Measured for the largest inputs that the tools take: watermark-image 1.25 GB (a lossless WebP of 40 megapixels),
 * web-scrape 0.4 GB, image-upscale 1.4 GB.
 */
export const JOB_MEMORY: Record<Pool, number> = {
  browser: 2 ** 30,
  cpu: 2 * 2 ** 30,
  network: 2 ** 30,
  heavy: 3 * 2 ** 30,
};

/** Attempts wait for receivers nearly all of their time, and hanging ones must not keep others waiting. */
const DELIVERY_SLOTS = 400;

/** Longer than any tool may take, so that a worker which is told to stop finishes what it has. */
const SHUTDOWN_GRACE = '110s';
/** Allowances so often, for who is given one in the middle of a month, and for what a month's first hours missed. */
const EVERY = { sweep: '15s', allowance: '1h' } as const;

type PoolOptions = Omit<WorkerOptions, 'connection' | 'namespace' | 'dataConverter'>;

/** The worker of a pool of tools: an activity a tool, on the pool's queue. */
export async function toolWorker(
  pool: Pool,
  registry: Registry,
  services: ToolServices,
): Promise<PoolOptions> {
  const tools = [...registry.values()].filter((tool) => tool.pool === pool);
  return {
    taskQueue: toolQueue(pool),
    activities: await createToolActivities(tools, services),
    maxConcurrentActivityTaskExecutions: SLOTS[pool],
    shutdownGraceTime: SHUTDOWN_GRACE,
  };
}

/** In production `localhost` would be a machine of ours, and nobody's who registers an endpoint. */
export const deliversToLocalhost = ({ NODE_ENV }: Pick<Env, 'NODE_ENV'>): boolean =>
  NODE_ENV !== 'production';

/** The worker that runs the workflows, and the money steps as their local activities. */
export async function orchestratorWorker(
  store: Store,
  ledger: Ledger,
  client: Client,
  env: Pick<Env, 'NODE_ENV' | 'WEBHOOK_RETRY_SCHEDULE'>,
  onSweep: (sweep: Sweep) => void,
  onError: (error: unknown) => void,
): Promise<PoolOptions> {
  const notifier = createEndpointNotifier(client, deliversToLocalhost(env));
  return {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowBundle: await loadWorkflowBundle(onError),
    activities: {
      ...createLedgerActivities(ledger),
      ...createEndpointActivities(store, notifier, env.WEBHOOK_RETRY_SCHEDULE),
      ...createMaintenanceActivities(store, ledger, client, notifier, onSweep),
      ...createAllowanceActivities(store, notifier),
    },
    maxConcurrentWorkflowTaskExecutions: 40,
    maxConcurrentLocalActivityExecutions: 100,
    shutdownGraceTime: '20s',
  };
}

/** The worker that posts to webhook endpoints. */
export const deliveryWorker = (services: DeliveryServices): PoolOptions => ({
  taskQueue: TASK_QUEUES.delivery,
  activities: createDeliveryActivities(services),
  maxConcurrentActivityTaskExecutions: DELIVERY_SLOTS,
  // An attempt takes 10 s at most.
  shutdownGraceTime: '20s',
});

async function ensureSchedule(client: Client, name: keyof typeof EVERY): Promise<void> {
  try {
    await client.schedule.create({
      scheduleId: name,
      spec: { intervals: [{ every: EVERY[name] }] },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '10s' },
      action: {
        type: 'startWorkflow',
        workflowType: WORKFLOWS[name],
        taskQueue: TASK_QUEUES.orchestrator,
        workflowId: name,
      },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}

/** The schedules that sweep and that grant allowances; made once a namespace, by whichever orchestrator comes first. */
export async function ensureSchedules(client: Client): Promise<void> {
  await Promise.all([ensureSchedule(client, 'sweep'), ensureSchedule(client, 'allowance')]);
}
