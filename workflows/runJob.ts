import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  log,
  proxyActivities,
  proxyLocalActivities,
  setWorkflowOptions,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { CALL_ERRORS } from '../schemas/callErrors.ts';
import type { QueuedJob } from '../store/jobs/jobs.ts';
import { callTool } from './callTool.ts';
import {
  callbackOptions,
  isCallFailure,
  JOB_PRIORITY,
  toolQueue,
  WAIT_FOR_WORKER,
  WORKER_DEPLOYMENT,
} from './contract.ts';
import { deliverCallback } from './deliverCallback.ts';
import type { CallFailure, CallRequest, ToolResult } from './types.ts';

/** The call whose result a job has, because of `maxAge`, and when that result was made (ISO 8601). */
export interface EarlierResult {
  callId: string;
  madeAt: string;
}

/** How the call of a job ended: with a result, or with an error of the error table. */
export type JobOutcome =
  | { result: ToolResult; reused?: EarlierResult }
  | { error: Pick<CallFailure, 'members' | 'retryAfter'> & { code: string; detail: string } };

/** The steps of a job in MongoDB, which the orchestrator runs as local activities. */
export interface JobActivities {
  /**
   * Marks a job as running and records its call. Can be repeated. Returns the request of the call; or the error with which the
   * job ends before its call, or the result of an earlier call that answers it; null if the job has ended.
   */
  startJob(
    jobId: string,
  ): Promise<
    | { request: CallRequest }
    | { error: { code: string; detail: string } }
    | { result: ToolResult; reused: EarlierResult }
    | null
  >;
  /** Stores the end of a job. Can be repeated. Returns whether a callback is to be delivered. */
  endJob(jobId: string, outcome: JobOutcome): Promise<boolean>;
}

const { startJob, endJob } = proxyLocalActivities<JobActivities>({
  // Long enough to store the error or the output of a call.
  startToCloseTimeout: '30s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

const failed = (code: string, detail: string): JobOutcome => ({
  error: { code, detail, members: {}, retryAfter: null },
});

/** Waits until a worker of the pool has a free slot, before any credits are reserved. */
async function untilWorkerIsFree({ pool, waitsUntil }: QueuedJob, accountId: string): Promise<void> {
  const { [WAIT_FOR_WORKER]: wait } = proxyActivities<Record<string, () => Promise<void>>>({
    taskQueue: toolQueue(pool, 'further'),
    scheduleToStartTimeout: Math.max(1000, waitsUntil - Date.now()),
    startToCloseTimeout: '10s',
    cancellationType: 'TRY_CANCEL',
    priority: { priorityKey: JOB_PRIORITY, fairnessKey: accountId },
  });
  await wait?.();
}

async function runCall(jobId: string): Promise<JobOutcome | null> {
  const start = await CancellationScope.nonCancellable(() => startJob(jobId));
  if (start === null) return null;
  if ('error' in start) return failed(start.error.code, start.error.detail);
  if ('result' in start) return start;
  const { result } = await callTool(start.request, Date.now());
  return { result };
}

/** Converts the error of a job to an error of the error table. */
function toOutcome(error: unknown): JobOutcome {
  if (isCancellation(error)) return failed('cancelled', CALL_ERRORS.cancelled.detail);
  if (error instanceof ApplicationFailure && error.type) {
    const details = error.details?.[0];
    const { members, retryAfter } = isCallFailure(details) ? details : { members: {}, retryAfter: null };
    return { error: { code: error.type, detail: error.message, members, retryAfter } };
  }
  // No worker had a free slot in time.
  if (error instanceof ActivityFailure) return failed('pool_busy', CALL_ERRORS.pool_busy.detail);
  throw error;
}

/**
 * Runs one job: waits for a worker, runs the call as `callTool` does, stores how it ended, and starts the delivery of the
 * callback. Its id is that of the call, so that a job is cancelled and swept like any call.
 *
 * @returns whether the history is kept, as that of any call that was charged or failed by a fault of the service; not that of a
 *   charged row, of which a batch has many
 */
export async function runJob(job: QueuedJob, accountId: string): Promise<boolean> {
  const { id } = job;
  let outcome: JobOutcome | null;
  try {
    await untilWorkerIsFree(job, accountId);
    outcome = await runCall(id);
  } catch (error) {
    outcome = toOutcome(error);
  }
  if (outcome === null) return false;
  const ending = outcome;
  await CancellationScope.nonCancellable(async () => {
    if (!(await endJob(id, ending))) return;
    try {
      await startChild(deliverCallback, {
        ...callbackOptions(id, accountId),
        parentClosePolicy: 'ABANDON',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
      });
    } catch (error) {
      log.warn('the delivery of a callback was not started; the sweeper will start it', { error });
    }
  });
  return 'error' in ending ? ending.error.code === 'internal' : job.isRow !== true;
}

// As `callTool`, whose code it runs.
setWorkflowOptions(
  () =>
    workflowInfo().currentDeploymentVersion?.deploymentName === WORKER_DEPLOYMENT
      ? { versioningBehavior: 'PINNED' }
      : {},
  runJob,
);
