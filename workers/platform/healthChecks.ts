import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { poolsInUse, type Registry } from '../../schemas/registry.ts';
import type { Store } from '../../store/mongo.ts';
import { probeDatabase } from '../../store/probe.ts';
import { TASK_QUEUES, toolQueue } from '../../workflows/contract.ts';
import type { Checks } from './readiness.ts';

const { TaskQueueType } = proto.temporal.api.enums.v1;
/** A worker's poll comes back at least this often (a long poll is 60 s). */
const POLLED_WITHIN_MS = 75_000;
const DEADLINE_MS = 2000;

export const mongodbCheck = (store: Store): Checks => ({
  mongodb: () => probeDatabase(store.db, DEADLINE_MS),
});

/** A namespace is described from Temporal's database; most other answers come from its memory. */
export const temporalCheck = (client: Client): Checks => ({
  temporal: () =>
    client.connection.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflowService.describeNamespace({ namespace: client.options.namespace }),
    ),
});

/** The queues that must have workers for the service to be whole. */
export const queuesOf = (registry: Registry): string[] => [
  TASK_QUEUES.orchestrator,
  TASK_QUEUES.delivery,
  ...poolsInUse(registry).map(toolQueue),
];

/** The orchestrator's queue has workflow tasks, every other one activities. */
const describe = (client: Client, queue: string) =>
  client.connection.withDeadline(Date.now() + DEADLINE_MS, () =>
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

async function assertPolled(client: Client, queue: string): Promise<void> {
  const { pollers } = await describe(client, queue);
  const last = Math.max(
    0,
    ...pollers.map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000),
  );
  if (Date.now() - last > POLLED_WITHIN_MS) throw new Error(`nobody polls ${queue}`);
}

/** Tasks of a queue that no worker has taken, as Temporal estimates them. */
export async function queueLength(client: Client, queue: string): Promise<number> {
  const { stats } = await describe(client, queue);
  return Number(stats?.approximateBacklogCount ?? 0);
}

/** Every queue has a worker that asked it for work lately. */
export const pollerChecks = (client: Client, queues: readonly string[]): Checks =>
  Object.fromEntries(queues.map((queue) => [`pool ${queue}`, () => assertPolled(client, queue)]));
