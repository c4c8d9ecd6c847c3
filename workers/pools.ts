import { availableParallelism } from 'node:os';
import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { ResourceBasedController, type WorkerOptions, type WorkflowBundle } from '@temporalio/worker';
import { createBatchSteps } from '../activities/batches/batchSteps.ts';
import {
  createCallbackActivities,
  createCallbackDelivery,
} from '../activities/callJobs/callbackActivities.ts';
import { createJobActivities } from '../activities/callJobs/jobActivities.ts';
import { startCallback } from '../activities/callJobs/startCallback.ts';
import { createJobSweep } from '../activities/callJobs/sweepJobs.ts';
import { createLedgerActivities } from '../activities/ledger/ledgerActivities.ts';
import {
  createAllowanceActivities,
  createAuditActivities,
  createMaintenanceActivities,
} from '../activities/ledger/scheduledActivities.ts';
import { createToolActivities, type ToolServices } from '../activities/runtime/toolActivities.ts';
import { createScheduleArea } from '../activities/schedules/area.ts';
import { createComparison } from '../activities/schedules/compareResult.ts';
import { wakeSchedule } from '../activities/schedules/wakeSchedule.ts';
import {
  createDispatchActivities,
  createEndpointNotifier,
} from '../activities/webhooks/dispatchActivities.ts';
import {
  createDeliveryActivities,
  createEndpointActivities,
  type DeliveryServices,
} from '../activities/webhooks/endpointActivities.ts';
import type { StartCall } from '../platform/internalServer.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import { deleteHistory } from '../platform/temporal/deleteHistory.ts';
import type { Env } from '../schemas/env.ts';
import { type Lane, lanesOf, POOL_TABLE, POOLS, type Pool } from '../schemas/pools.ts';
import type { Registry } from '../schemas/registry.ts';
import { createCalls } from '../store/calls/calls.ts';
import { createResults, mongodbPieces } from '../store/calls/results.ts';
import { createReusableResults } from '../store/calls/reusableResults.ts';
import type { Sweep } from '../store/calls/sweeper.ts';
import { createUnchargedCalls } from '../store/calls/unchargedCalls.ts';
import { createFiles } from '../store/files/files.ts';
import { createCallbackSecrets } from '../store/jobs/callbackSecrets.ts';
import { createJobs } from '../store/jobs/jobs.ts';
import { createJobStorage } from '../store/jobs/storedBytes.ts';
import type { Audit } from '../store/ledger/audit.ts';
import type { Ledger } from '../store/ledger/ledger.ts';
import type { Store } from '../store/mongo/mongo.ts';
import type { ReceiptKeys } from '../store/receipts/receiptKeys.ts';
import { deliversToLocalhost } from '../store/webhooks/events.ts';
import type { RowChunkActivities } from '../workflows/accountJobs.ts';
import {
  COMPARISON_POOL,
  TASK_QUEUES,
  toolQueue,
  WAIT_FOR_WORKER,
  WORKFLOWS,
} from '../workflows/contract.ts';
import type { ToolActivities } from '../workflows/types.ts';
import { loadWorkflowBundle } from './bundle.ts';

/** Kinds of worker processes: workflows with ledger steps, webhook deliveries, and the tool pools. */
export const WORKER_POOLS = ['orchestrator', 'delivery', ...POOLS] as const;
export type WorkerPool = (typeof WORKER_POOLS)[number];

/** Share of the machine's memory and CPU time up to which a pool takes calls above its `sureSlots`. */
const TARGET_USAGE = { targetMemoryUsage: 0.9, targetCpuUsage: 0.9 };
/** Time between two further slots, in which the last call begins to use the machine. */
const RAMP = '50ms';
/**
 * Slots for calls that take milliseconds. Several per core, because a call also waits for its input and result. With fewer than 14
 * slots for workflow tasks, the SDK (1.24) starts no workflow eagerly, however few polls there are.
 */
const FAST_SLOTS = Math.max(16, 4 * availableParallelism());

/**
 * Returns the slots of a worker's lanes. An account runs at most one call in the lane `first` of all workers, where there
 * are at least two slots, so that it never holds the last slot of a pool.
 *
 * @param slots overrides the number for the pool (`WORKER_SLOTS`)
 */
export function laneSlots(pool: Pool, slots: number | null): Record<Lane, number> {
  const further = slots ?? POOL_TABLE[pool].slots(availableParallelism());
  return { first: Math.max(2, further), further, fast: POOL_TABLE[pool].fastLane ? FAST_SLOTS : 0 };
}

/**
 * Concurrent activities of a delivery worker: many, because each endpoint that gets events holds one, which waits for its receiver or
 * for further deliveries.
 */
const DELIVERY_SLOTS = 1000;

/**
 * Concurrent workflow tasks of an orchestrator. Further tasks wait in the task queue, which serves the accounts in turn.
 * With 40 on two cores, an account that kept 64 calls of hash-text open raised the p95 of another account's calls to 1.8 s,
 * because all 64 progressed at the same time; with 8 to 0.5 s at the same throughput. A workflow task also lasts while its
 * local activities wait for MongoDB, so one per core would be too few.
 */
const WORKFLOW_TASKS = 4 * availableParallelism();

/** Concurrent polls for workflow tasks of a lane of fast tools; the SDK requires two. */
const WORKFLOW_POLLS = 2;

/** How long a tool worker that stops waits for its calls: longer than any tool's time limit, so that all calls finish. */
const SHUTDOWN_GRACE = '110s';
/** Intervals of the Temporal schedules. Hourly allowance runs also grant allowances that are set during a month. */
const INTERVALS = { sweep: '15s', allowance: '1h', audit: '1h' } as const;

type SlotOptions = Pick<WorkerOptions, 'maxConcurrentActivityTaskExecutions' | 'tuner'>;

/** What a worker needs to run whole calls of fast tools. */
export interface FastLane {
  workflowBundle: WorkflowBundle;
  /** Returns the activities of the lane, which observe how calls end. */
  activitiesWith(tools: ToolActivities): object;
  /** Returns the activity that runs rows of batches in chunks, in the lane `further`. */
  rowActivities(tools: ToolActivities): RowChunkActivities;
  /**
   * Starts the workflow of a call that an API process gives to this worker.
   *
   * @throws if the call is not authentic, this process is stopping, or Temporal does not start the workflow
   */
  start: StartCall;
}

type LaneOptions = Pick<
  WorkerOptions,
  | 'taskQueue'
  | 'activities'
  | 'workflowBundle'
  | 'maxConcurrentWorkflowTaskExecutions'
  | 'maxConcurrentWorkflowTaskPolls'
> &
  SlotOptions;

export type PoolOptions = Omit<WorkerOptions, 'connection' | 'namespace' | 'dataConverter'> & {
  /** The task queues to poll, with their slots and what else differs; missing: only `taskQueue`. */
  lanes?: readonly LaneOptions[];
  /** Starts a call in the lane of fast tools; missing: there is none. */
  startCall?: FastLane['start'];
};

/**
 * Returns how the lanes of a worker hand out their slots: above `sureSlots` only while the machine has CPU time and memory
 * left, which all lanes measure together.
 */
function slotOptions(sureSlots: number | undefined): (slots: number) => SlotOptions {
  if (sureSlots === undefined) return (slots) => ({ maxConcurrentActivityTaskExecutions: slots });
  const controller = ResourceBasedController.create(TARGET_USAGE);
  return (slots) => {
    const limits = { minimumSlots: Math.min(slots, sureSlots), maximumSlots: slots };
    return { tuner: { controller, activityTaskSlotOptions: { ...limits, rampThrottle: RAMP } } };
  };
}

/**
 * Options of a tool pool's worker: one activity per tool, on the queues of the pool's lanes.
 *
 * @param fastLane runs the workflows of calls in the lane of fast tools; null: the pool has no such lane
 */
export async function toolWorker(
  pool: Pool,
  registry: Registry,
  services: ToolServices,
  slots: Record<Lane, number>,
  fastLane: FastLane | null,
): Promise<PoolOptions> {
  const tools = [...registry.values()].filter((tool) => tool.pool === pool);
  const optionsOf = slotOptions(POOL_TABLE[pool].sureSlots);
  const activities = await createToolActivities(tools, services);
  const lanes = lanesOf(pool).map((lane): LaneOptions => {
    const taskQueue = toolQueue(pool, lane);
    if (lane !== 'fast' || fastLane === null) return { taskQueue, ...optionsOf(slots[lane]) };
    return {
      taskQueue,
      workflowBundle: fastLane.workflowBundle,
      activities: fastLane.activitiesWith(activities),
      maxConcurrentActivityTaskExecutions: slots.fast,
      // A call keeps its workflow task until it has ended. Calls that this process accepts take slots that no poll holds.
      maxConcurrentWorkflowTaskExecutions: slots.fast,
      maxConcurrentWorkflowTaskPolls: WORKFLOW_POLLS,
    };
  });
  return {
    taskQueue: toolQueue(pool),
    activities: {
      ...activities,
      ...fastLane?.rowActivities(activities),
      ...(pool === COMPARISON_POOL && createComparison({ registry, ...services })),
      [WAIT_FOR_WORKER]: async () => undefined,
    },
    lanes,
    shutdownGraceTime: SHUTDOWN_GRACE,
    ...(fastLane !== null && { startCall: fastLane.start }),
  };
}

/** Options of the worker that runs the workflows and their local activities. */
export async function orchestratorWorker(
  store: Store,
  keyring: Keyring,
  ledger: Ledger,
  client: Client,
  receiptKeys: ReceiptKeys,
  env: Pick<Env, 'BUILD_ID' | 'NODE_ENV' | 'POOL_WAIT' | 'RATE_LIMIT' | 'WEBHOOK_RETRY_SCHEDULE'>,
  registry: Registry,
  runAudit: () => Promise<Audit>,
  onSweep: (sweep: Sweep) => void,
  onError: (error: unknown) => void,
): Promise<PoolOptions> {
  const notifier = createEndpointNotifier(client, deliversToLocalhost(env));
  const jobs = createJobs(store);
  const results = createResults(mongodbPieces(store), keyring);
  const batchSteps = createBatchSteps(
    store,
    jobs,
    results,
    keyring,
    (id, accountId) => startCallback(client, id, accountId),
    (scheduleId, accountId) => wakeSchedule(client, scheduleId, accountId),
  );
  const storage = createJobStorage(store, env.RATE_LIMIT);
  const scheduleSteps = createScheduleArea({
    store,
    registry,
    jobs,
    results,
    storage,
    keyring,
    client,
    limits: env,
  });
  const jobActivities = createJobActivities({
    store,
    jobs,
    calls: createCalls(store),
    results,
    files: createFiles(store, keyring, env.RATE_LIMIT),
    ...batchSteps,
    scheduleSteps,
    storage,
    reusable: createReusableResults(store, results, env.RATE_LIMIT),
    uncharged: createUnchargedCalls(store, env.RATE_LIMIT, onError),
    receiptKeys,
    deleteHistory: (workflowId) => deleteHistory(client, workflowId),
  });
  return {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowBundle: await loadWorkflowBundle(onError),
    activities: {
      ...createLedgerActivities(ledger),
      ...createDispatchActivities(store, notifier),
      ...createEndpointActivities(store, env.WEBHOOK_RETRY_SCHEDULE),
      ...createMaintenanceActivities(store, ledger, client, notifier, onSweep, env.BUILD_ID !== null),
      ...jobActivities,
      ...createCallbackActivities(store, jobs, env.WEBHOOK_RETRY_SCHEDULE),
      ...createJobSweep({
        store,
        ledger,
        client,
        endJob: jobActivities.endJob,
        batches: batchSteps,
        schedules: scheduleSteps,
      }),
      ...scheduleSteps.activities,
      ...createAllowanceActivities(store),
      ...createAuditActivities(store, runAudit),
    },
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_TASKS,
    maxConcurrentLocalActivityExecutions: 100,
    shutdownGraceTime: '20s',
  };
}

/** Options of the worker that posts to webhook endpoints. */
export const deliveryWorker = (services: DeliveryServices): PoolOptions => ({
  taskQueue: TASK_QUEUES.delivery,
  activities: {
    ...createDeliveryActivities(services),
    ...createCallbackDelivery({
      ...services,
      secrets: createCallbackSecrets(services.store, services.keyring),
    }),
  },
  maxConcurrentActivityTaskExecutions: DELIVERY_SLOTS,
  // Longer than a webhook attempt, which takes at most 10 s.
  shutdownGraceTime: '20s',
});

async function ensureSchedule(client: Client, name: keyof typeof INTERVALS): Promise<void> {
  try {
    await client.schedule.create({
      scheduleId: name,
      spec: { intervals: [{ every: INTERVALS[name] }] },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '10s' },
      action: {
        type: 'startWorkflow',
        workflowType: WORKFLOWS[name],
        taskQueue: TASK_QUEUES.orchestrator,
        workflowId: name,
      },
      // Runs the first audit at once: without any audit, the alert for an overdue audit would fire on new installations.
      state: { triggerImmediately: name === 'audit' },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}

/** Creates the schedules of the sweeper, of allowances and of audits in the Temporal namespace, unless they exist. */
export async function ensureSchedules(client: Client): Promise<void> {
  await Promise.all([
    ensureSchedule(client, 'sweep'),
    ensureSchedule(client, 'allowance'),
    ensureSchedule(client, 'audit'),
  ]);
}
