import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { lanesOf, POOLS, type Pool } from '../schemas/pools.ts';
import { poolsInUse, type Registry } from '../schemas/registry.ts';
import { TASK_QUEUES, toolQueue } from '../workflows/contract.ts';
import type { Checks } from './readiness.ts';

const { TaskQueueType } = proto.temporal.api.enums.v1;
/** A queue that was not polled for this long has no worker: workers always poll, and a long poll takes up to 60 s. */
const MAX_POLL_AGE_MS = 75_000;
const TIMEOUT_MS = 2000;

/** Checks Temporal with a request for the namespace, which Temporal reads from its database instead of from memory. */
export const temporalCheck = (client: Client): Checks => ({
  temporal: () =>
    client.connection.withDeadline(Date.now() + TIMEOUT_MS, () =>
      client.workflowService.describeNamespace({ namespace: client.options.namespace }),
    ),
});

/** The task queues that need at least one worker; of a pool, that of its first lane. */
export const queuesOf = (registry: Registry): string[] => [
  TASK_QUEUES.orchestrator,
  TASK_QUEUES.delivery,
  ...poolsInUse(registry).map((pool) => toolQueue(pool)),
];

const { TASK_QUEUE_TYPE_ACTIVITY: ACTIVITY_TASKS, TASK_QUEUE_TYPE_WORKFLOW: WORKFLOW_TASKS } = TaskQueueType;

/**
 * Returns pollers and backlog of a task queue. @param type kind of the tasks. Default: workflow tasks on the orchestrator's queue,
 * else activity tasks
 */
const describe = (
  client: Client,
  queue: string,
  type = queue === TASK_QUEUES.orchestrator ? WORKFLOW_TASKS : ACTIVITY_TASKS,
) =>
  client.connection.withDeadline(Date.now() + TIMEOUT_MS, () =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: queue },
      taskQueueType: type,
      reportStats: true,
    }),
  );

interface QueueState {
  /** Temporal's estimate of how many tasks wait for a worker. */
  waiting: number;
  /** Workers that polled the queue recently; of a pool, the lowest number among its lanes. */
  workers: number;
}

const poolOfQueue = (queue: string): Pool | undefined => POOLS.find((each) => toolQueue(each) === queue);

/** The task queues of all lanes of a pool, whose first lane has this queue; else the queue itself. */
function lanesOfQueue(queue: string): string[] {
  const pool = poolOfQueue(queue);
  return pool === undefined ? [queue] : lanesOf(pool).map((lane) => toolQueue(pool, lane));
}

/** Returns the number of whole calls that wait in the fast lane of a pool, whose first lane has this queue. */
async function callsInFastLane(client: Client, queue: string): Promise<number> {
  const pool = poolOfQueue(queue);
  if (pool === undefined || !lanesOf(pool).includes('fast')) return 0;
  const { stats } = await describe(client, toolQueue(pool, 'fast'), WORKFLOW_TASKS);
  return Number(stats?.approximateBacklogCount ?? 0);
}

/** Returns the state of a task queue; for the queue of a pool, that of all its lanes together. */
export async function queueState(client: Client, queue: string): Promise<QueueState> {
  const [calls, ...states] = await Promise.all([
    callsInFastLane(client, queue),
    ...lanesOfQueue(queue).map((lane) => describe(client, lane)),
  ]);
  const isRecent = (seconds: number) => Date.now() - seconds * 1000 <= MAX_POLL_AGE_MS;
  return {
    waiting: states.reduce((sum, { stats }) => sum + Number(stats?.approximateBacklogCount ?? 0), calls),
    workers: Math.min(
      ...states.map(
        ({ pollers }) =>
          pollers.filter(({ lastAccessTime }) => isRecent(Number(lastAccessTime?.seconds ?? 0))).length,
      ),
    ),
  };
}

async function assertPolled(client: Client, queue: string): Promise<void> {
  if ((await queueState(client, queue)).workers === 0)
    throw new Error(`no worker polls the task queue ${queue}`);
}

/** Checks that each queue was polled recently. */
export const pollerChecks = (client: Client, queues: readonly string[]): Checks =>
  Object.fromEntries(queues.map((queue) => [`pool ${queue}`, () => assertPolled(client, queue)]));
