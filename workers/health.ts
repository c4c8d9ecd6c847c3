import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { Checks } from '../api/health.ts';
import type { Store } from '../store/mongo.ts';

const { TaskQueueType } = proto.temporal.api.enums.v1;
/** A worker's poll comes back at least this often (a long poll is 60 s). */
const POLLED_WITHIN_MS = 75_000;
const DEADLINE_MS = 2000;

export const mongodbCheck = (store: Store): Checks => ({ mongodb: () => store.db.command({ ping: 1 }) });

async function assertPolled(client: Client, queue: string): Promise<void> {
  const { pollers } = await client.connection.withDeadline(Date.now() + DEADLINE_MS, () =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: queue },
      taskQueueType:
        queue === 'orchestrator'
          ? TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
          : TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    }),
  );
  const last = Math.max(
    0,
    ...pollers.map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000),
  );
  if (Date.now() - last > POLLED_WITHIN_MS) throw new Error(`nobody polls ${queue}`);
}

/** Temporal answers, and every queue has a worker that asked it for work lately. */
export function temporalChecks(client: Client, queues: readonly string[]): Checks {
  const polled = queues.map((queue) => [`pool ${queue}`, () => assertPolled(client, queue)] as const);
  const temporal = () =>
    client.connection.withDeadline(Date.now() + DEADLINE_MS, () => client.workflowService.getSystemInfo({}));
  return { temporal, ...Object.fromEntries(polled) };
}
