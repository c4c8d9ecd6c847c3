import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { lanesOf, POOLS } from '../schemas/pools.ts';
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

/** Returns pollers and backlog of a task queue: for workflow tasks on the orchestrator's queue, else for activity tasks. */
const describe = (client: Client, queue: string) =>
  client.connection.withDeadline(Date.now() + TIMEOUT_MS, () =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: queue },
      taskQueueType:
        queue === TASK_QUEUES.orchestrator
          ? TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
          : TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
      reportStats: true,
    }),
  );

interface QueueState {
  /** Temporal's estimate of how many tasks wait for a worker. */
  waiting: number;
  /** Workers that polled the queue recently; of a pool, the lowest number among its lanes. */
  workers: number;
}

/** The task queues of all lanes of a pool, whose first lane has this queue; else the queue itself. */
function lanesOfQueue(queue: string): string[] {
  const pool = POOLS.find((each) => toolQueue(each) === queue);
  return pool === undefined ? [queue] : lanesOf(pool).map((lane) => toolQueue(pool, lane));
}

/** Returns the state of a task queue; for the queue of a pool, that of all its lanes together. */
export async function queueState(client: Client, queue: string): Promise<QueueState> {
  const states = await Promise.all(lanesOfQueue(queue).map((lane) => describe(client, lane)));
  const isRecent = (seconds: number) => Date.now() - seconds * 1000 <= MAX_POLL_AGE_MS;
  return {
    waiting: states.reduce((sum, { stats }) => sum + Number(stats?.approximateBacklogCount ?? 0), 0),
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
