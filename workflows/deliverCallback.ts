import { condition, proxyActivities, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import { JOB_PRIORITY, sendCallback, TASK_QUEUES } from './contract.ts';
import { type DeliveryStatus, nextDeliveryStatus } from './webhookEndpointState.ts';

/** An attempt of a callback, and what follows. */
export interface CallbackAttempt {
  attempts: number;
  /** Number of attempts since the callback was last sent again. */
  tries: number;
  statusCode: number | null;
  error: string | null;
  state: 'pending' | 'delivered' | 'failed';
  /** When the next attempt is due, in epoch milliseconds; null if there is none. */
  nextAt: number | null;
}

/** The response to an attempt of a callback. */
interface PostedCallback {
  ok: boolean;
  statusCode: number | null;
  error: string | null;
  retryAfterMs: number | null;
}

/** The steps in MongoDB, which the orchestrator runs as local activities. */
export interface CallbackActivities {
  /**
   * Returns the number of attempts so far, in all and since it was last sent again, and the waits between attempts; null if no attempt
   * is due any more.
   */
  openCallback(jobId: string): Promise<{ attempts: number; tries?: number; scheduleMs: number[] } | null>;
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
 * Delivers the callback of a job: attempts it on the schedule of webhooks until the receiver accepts it or the schedule ends. The
 * signal `sendCallback` makes the next attempt at once.
 */
export async function deliverCallback(jobId: string, accountId: string): Promise<void> {
  const { postCallback } = proxyActivities<CallbackDeliveryActivities>({
    taskQueue: TASK_QUEUES.delivery,
    startToCloseTimeout: '30s',
    heartbeatTimeout: '8s',
    priority: { priorityKey: JOB_PRIORITY, fairnessKey: accountId },
    retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '10s' },
  });
  let isAskedFor = false;
  setHandler(sendCallback, () => {
    isAskedFor = true;
  });

  // A callback that was sent again after its last attempt was recorded is due again.
  do {
    isAskedFor = false;
    const opened = await openCallback(jobId);
    if (opened === null) return;
    const { scheduleMs } = opened;
    let { attempts, tries = attempts } = opened;
    for (;;) {
      attempts += 1;
      tries += 1;
      const posted = await postCallback(jobId);
      if (posted === null) return;
      const { statusCode, error, ...result } = posted;
      const { state, nextAt }: DeliveryStatus =
        isAskedFor && !result.ok
          ? { state: 'pending', nextAt: Date.now() }
          : nextDeliveryStatus({ ...result, tries }, scheduleMs, Math.random(), Date.now());
      const recorded = state === 'held' ? 'failed' : state;
      await recordCallback(jobId, { attempts, tries, statusCode, error, state: recorded, nextAt });
      if (nextAt === null) break;
      await condition(() => isAskedFor, Math.max(1, nextAt - Date.now()));
      isAskedFor = false;
    }
  } while (isAskedFor);
}
