import type { WorkflowExecutionDescription, WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import { TASK_QUEUES } from '../../workflows/contract.ts';

const { TaskQueueType, VersioningBehavior } = proto.temporal.api.enums.v1;
/** A worker polls at least this often (a long poll takes up to 60 s). */
const MAX_POLL_AGE_MS = 75_000;

/** Whether a worker of the build takes workflow tasks. */
async function isPolled({ client }: WorkflowHandle, buildId: string): Promise<boolean> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: TASK_QUEUES.orchestrator },
    taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
  });
  return pollers.some(
    ({ deploymentOptions, lastAccessTime }) =>
      deploymentOptions?.buildId === buildId &&
      Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1000 < MAX_POLL_AGE_MS,
  );
}

/**
 * Terminates a running call whose build has no worker left, because no other build may continue it.
 *
 * @returns whether it was terminated
 */
export async function terminateIfStranded(
  handle: WorkflowHandle,
  { raw }: WorkflowExecutionDescription,
): Promise<boolean> {
  const { behavior, deploymentVersion } = raw.workflowExecutionInfo?.versioningInfo ?? {};
  if (behavior !== VersioningBehavior.VERSIONING_BEHAVIOR_PINNED || deploymentVersion == null) return false;
  if (await isPolled(handle, deploymentVersion.buildId ?? '')) return false;
  await handle.terminate(`no worker of build ${deploymentVersion.buildId} is left`);
  return true;
}
