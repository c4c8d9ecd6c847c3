import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { TASK_QUEUES, WORKER_DEPLOYMENT } from '../../workflows/contract.ts';

const { TaskQueueType } = proto.temporal.api.enums.v1;
/** A poller that was not seen for this long has stopped: workers always poll, and a long poll takes up to 60 s. */
const MAX_POLL_AGE_MS = 75_000;

/** Returns the build ids of the orchestrators that currently poll for workflow tasks. */
async function polledBuilds(client: Client): Promise<Set<string>> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: TASK_QUEUES.orchestrator },
    taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
  });
  const recent = pollers.filter(
    ({ lastAccessTime }) => Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1000 < MAX_POLL_AGE_MS,
  );
  return new Set(recent.flatMap(({ deploymentOptions }) => deploymentOptions?.buildId ?? []));
}

/**
 * Terminates the workflows of running calls whose build has no worker left, because no other build may continue them. The
 * next sweep refunds the calls that still hold credits.
 *
 * @param onCall called before each termination
 */
export async function endStrandedCalls(client: Client, onCall: () => void): Promise<void> {
  const conditions = [...(await polledBuilds(client))].map(
    (build) => `TemporalWorkerDeploymentVersion != '${WORKER_DEPLOYMENT}:${build}'`,
  );
  if (conditions.length === 0) return; // This process itself polls, so Temporal's list of pollers is incomplete.
  const query = [
    "ExecutionStatus = 'Running'",
    "TemporalWorkflowVersioningBehavior = 'Pinned'",
    ...conditions,
  ];
  for await (const { workflowId, runId } of client.workflow.list({ query: query.join(' AND ') })) {
    onCall();
    await client.workflow
      .getHandle(workflowId, runId)
      .terminate('no worker runs the build of this workflow any more');
  }
}
