import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import { retryUntilAborted } from '../platform/temporal/retryUntilAborted.ts';
import { WORKER_DEPLOYMENT } from '../workflows/contract.ts';

/** How long to wait, in milliseconds, until the Temporal server accepts a new build as the current version. */
const CURRENT_MS = 60_000;
/**
 * How long a worker that stops waits, in milliseconds, for the running calls of its build. A call takes at most 100 s, and
 * no further calls start on a build that is no longer current.
 */
const DRAIN_MS = 100_000;
/** Pause in milliseconds before each count of running calls. Temporal's visibility store lags by up to a second. */
const COUNT_EVERY_MS = 3_000;

/** The build of an orchestrator, which is a version in a Temporal Worker Deployment. */
export interface Build {
  options: Pick<WorkerOptions, 'workerDeploymentOptions'>;
  /**
   * Makes this build the current version, so that new workflows start on it. A worker of this build must already be polling.
   *
   * @throws the last error when the Temporal server does not accept the build within 60 s or before the signal aborts
   */
  makeCurrent(signal: AbortSignal): Promise<void>;
  /**
   * Resolves when a worker of this build may stop: no running call needs the build any more, or the build is still current,
   * so that other workers of the build continue the calls.
   *
   * @throws Error when neither is the case within 100 s
   */
  untilDrained(): Promise<void>;
}

export function createBuild(client: Client, buildId: string): Build {
  const { namespace, identity } = client.options;
  const deployment = { namespace, deploymentName: WORKER_DEPLOYMENT };

  async function isCurrent(): Promise<boolean> {
    const { workerDeploymentInfo } = await client.workflowService.describeWorkerDeployment(deployment);
    return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId === buildId;
  }
  async function countCalls(): Promise<number> {
    const { count } = await client.workflow.count(
      `TemporalWorkerDeploymentVersion = '${WORKER_DEPLOYMENT}:${buildId}' AND TemporalWorkflowVersioningBehavior = 'Pinned' AND ExecutionStatus = 'Running'`,
    );
    return count;
  }

  return {
    options: {
      workerDeploymentOptions: {
        useWorkerVersioning: true,
        version: { deploymentName: WORKER_DEPLOYMENT, buildId },
        // Workflows without a declared versioning behavior, such as webhook endpoints, continue on the current build.
        defaultVersioningBehavior: 'AUTO_UPGRADE',
      },
    },

    async makeCurrent(signal) {
      await retryUntilAborted(
        client,
        () => client.workflowService.setWorkerDeploymentCurrentVersion({ ...deployment, identity, buildId }),
        AbortSignal.any([signal, AbortSignal.timeout(CURRENT_MS)]),
      );
    },

    async untilDrained() {
      const signal = AbortSignal.timeout(DRAIN_MS);
      if (await retryUntilAborted(client, isCurrent, signal)) return;
      do await sleep(COUNT_EVERY_MS, undefined, { signal });
      while ((await retryUntilAborted(client, countCalls, signal)) > 0);
    },
  };
}
