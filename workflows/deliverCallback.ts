import { proxyActivities, proxyLocalActivities, sleep } from '@temporalio/workflow';
import { JOB_PRIORITY, TASK_QUEUES } from './contract.ts';
import { nextDeliveryStatus } from './webhookEndpointState.ts';

/** An attempt of a callback, and what follows. */
export interface CallbackAttempt {
  attempts: number;
  statusCode: number | null;
  error: string | null;
  state: 'pending' | 'delivered' | 'failed';
  /** When the next attempt is due, in epoch milliseconds; null if there is none. */
  nextAt: number | null;
}

/** The response to an attempt of a callback. */
export interface PostedCallback {
  ok: boolean;
  statusCode: number | null;
  error: string | null;
  retryAfterMs: number | null;
}

/** The steps in MongoDB, which the orchestrator runs as local activities. */
export interface CallbackActivities {
  /** Returns the number of attempts so far and the waits between attempts; null if no attempt is due any more. */
  openCallback(jobId: string): Promise<{ attempts: number; scheduleMs: number[] } | null>;
  recordCallback(jobId: string, attempt: CallbackAttempt): Promise<void>;
}

/** The attempt, which a worker of the `delivery` queue makes. */
export interface CallbackDeliveryActivities {
  /** Posts the callback of a job once. Returns null if the job does not exist any more. */
  postCallback(jobId: string): Promise<PostedCallback | null>;
}

const { openCallback, recordCallback } = proxyLocalActivities<CallbackActivities>({
  startToCloseTimeout: '12s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/**
 * Delivers the callback of a job: attempts it on the schedule of webhooks until the receiver accepts it or the schedule ends.
 */
export async function deliverCallback(jobId: string, accountId: string): Promise<void> {
  const { postCallback } = proxyActivities<CallbackDeliveryActivities>({
    taskQueue: TASK_QUEUES.delivery,
    startToCloseTimeout: '30s',
    heartbeatTimeout: '8s',
    priority: { priorityKey: JOB_PRIORITY, fairnessKey: accountId },
    retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '10s' },
  });
  const opened = await openCallback(jobId);
  if (opened === null) return;
  const { scheduleMs } = opened;
  for (let attempts = opened.attempts + 1; ; attempts++) {
    const posted = await postCallback(jobId);
    if (posted === null) return;
    const { statusCode, error, ...result } = posted;
    const next = nextDeliveryStatus({ ...result, tries: attempts }, scheduleMs, Math.random(), Date.now());
    const state = next.state === 'held' ? 'failed' : next.state;
    await recordCallback(jobId, { attempts, statusCode, error, state, nextAt: next.nextAt });
    if (next.nextAt === null) return;
    await sleep(Math.max(1, next.nextAt - Date.now()));
  }
}
