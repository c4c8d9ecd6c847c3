import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import { WORKER_DEPLOYMENT } from '../workflows/contract.ts';
import { retryUntilAborted } from './platform/retryUntilAborted.ts';

/** The server takes some seconds to register a new build. */
const CURRENT_MS = 60_000;
/**
 * Longest time for which a stopping build waits for its calls. A call takes at most 100 s, and all of them started before
 * the next build became current.
 */
const DRAIN_MS = 100_000;
/** Pause before each count of calls. They appear in Temporal's visibility store within a second. */
const COUNT_EVERY_MS = 3_000;

/** The build of an orchestrator, a version of Temporal's worker deployment. */
export interface Build {
  options: Pick<WorkerOptions, 'workerDeploymentOptions'>;
  /**
   * Directs new workflows to this build. Requires that a worker of it polls.
   *
   * @throws the last error when the server does not accept it within 60 s, or after the abort
   */
  makeCurrent(signal: AbortSignal): Promise<void>;
  /**
   * Resolves when a stopping worker may end: no call needs this build any more, or the build is still current, so that
   * its other workers continue the calls.
   *
   * @throws an error after 100 s
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
        // Workflows that declare nothing else, such as those of webhook endpoints, continue on the newest build.
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
