import { cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { JOB_COMPLETED } from '../../schemas/jobs.ts';
import type { CallbackSecrets } from '../../store/jobs/callbackSecrets.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import { jobRow } from '../../store/jobs/jobRow.ts';
import type { Jobs } from '../../store/jobs/jobs.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { envelopeOf } from '../../store/webhooks/events.ts';
import { signingSecrets } from '../../store/webhooks/webhookEndpoints.ts';
import type { CallbackActivities, CallbackDeliveryActivities } from '../../workflows/deliverCallback.ts';
import { isSuccess, type PostServices, postSigned } from '../webhooks/postSigned.ts';

/** Maximum number of callbacks of an account that a worker posts at the same time, so that slow receivers leave slots free. */
const MAX_POSTS = 10;
const HEARTBEAT_MS = 2000;

/** Creates the database steps of callbacks, which the orchestrator runs as local activities. */
export const createCallbackActivities = (
  { jobs: rows }: Pick<Store, 'jobs'>,
  jobs: Pick<Jobs, 'callbackAttempted'>,
  scheduleMs: readonly number[],
): CallbackActivities => ({
  async openCallback(jobId) {
    const job = await rows.findOne({ _id: jobId, 'callback.state': 'pending' });
    return job?.callback == null ? null : { attempts: job.callback.attempts, scheduleMs: [...scheduleMs] };
  },
  recordCallback: (jobId, { nextAt, ...attempt }) =>
    jobs.callbackAttempted(jobId, { ...attempt, nextAt: nextAt === null ? null : new Date(nextAt) }),
});

/** The body of a job's callback, the same on every attempt: therefore without the state of the callback. */
function bodyOf(job: JobDoc, id: string): string {
  const { callback: _callback, ...data } = jobRow(job);
  return envelopeOf(id, JOB_COMPLETED, job.endedAt ?? job.createdAt, data);
}

interface CallbackServices extends PostServices {
  store: Pick<Store, 'jobs'>;
  keyring: Keyring;
  secrets: Pick<CallbackSecrets, 'find'>;
}

/** Creates the attempt of a callback, for the `delivery` queue. */
export function createCallbackDelivery(services: CallbackServices): CallbackDeliveryActivities {
  const { store, keyring, secrets } = services;
  /** Number of callbacks that are being posted, by account. */
  const posting = new Map<string, number>();

  async function post(job: JobDoc, url: string) {
    const secret = await secrets.find(job.accountId);
    const id = `cbk_${job._id}`;
    const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
    try {
      const message = { id, event: JOB_COMPLETED, url, body: bodyOf(job, id) };
      const secretsAt = (now: Date) => signingSecrets(keyring, secret, now);
      return await postSigned(services, message, secretsAt, cancellationSignal());
    } finally {
      clearInterval(beat);
    }
  }

  return {
    async postCallback(jobId) {
      const job = await store.jobs.findOne({ _id: jobId, 'callback.state': 'pending' });
      if (job?.callback == null) return null;
      const { accountId, callback } = job;
      const open = posting.get(accountId) ?? 0;
      // Temporal repeats the attempt after a pause.
      if (open >= MAX_POSTS) throw new Error('too many callbacks of this account are being posted');
      posting.set(accountId, open + 1);
      try {
        const { statusCode, error, retryAfterMs } = await post(job, callback.url);
        return { ok: isSuccess(statusCode), statusCode, error, retryAfterMs };
      } finally {
        const left = (posting.get(accountId) ?? 1) - 1;
        if (left > 0) posting.set(accountId, left);
        else posting.delete(accountId);
      }
    },
  };
}
