import { cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { JOB_COMPLETED } from '../../schemas/jobs.ts';
import { isBatchCallback, recordAttempt } from '../../store/batches/batchCallbacks.ts';
import type { CallbackSecrets } from '../../store/jobs/callbackSecrets.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import { jobCallbackId, jobRow } from '../../store/jobs/jobRow.ts';
import type { Jobs } from '../../store/jobs/jobs.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { isScheduleCallback, recordScheduleAttempt } from '../../store/schedules/scheduleCallbacks.ts';
import { sealedData } from '../../store/schedules/sealed.ts';
import { envelopeOf } from '../../store/webhooks/events.ts';
import { signingSecrets } from '../../store/webhooks/webhookEndpoints.ts';
import type { CallbackActivities, CallbackDeliveryActivities } from '../../workflows/deliverCallback.ts';
import { isSuccess, type Message, type PostServices, postSigned } from '../webhooks/postSigned.ts';

/** Maximum number of callbacks of an account that a worker posts at the same time, so that slow receivers leave slots free. */
const MAX_POSTS = 10;
const HEARTBEAT_MS = 2000;

type Stored = Pick<Store, 'jobs' | 'batchCallbacks' | 'scheduleCallbacks'>;

/** Creates the database steps of callbacks, which the orchestrator runs as local activities. */
export const createCallbackActivities = (
  store: Stored,
  jobs: Pick<Jobs, 'callbackAttempted'>,
  scheduleMs: readonly number[],
): CallbackActivities => ({
  async openCallback(id) {
    const pending = await findPending(store, id);
    return pending && { attempts: pending.attempts, tries: pending.tries, scheduleMs: [...scheduleMs] };
  },
  recordCallback(id, { nextAt, ...attempt }) {
    const recorded = { ...attempt, nextAt: nextAt === null ? null : new Date(nextAt) };
    if (isScheduleCallback(id)) return recordScheduleAttempt(store, id, recorded);
    return isBatchCallback(id) ? recordAttempt(store, id, recorded) : jobs.callbackAttempted(id, recorded);
  },
});

/** A callback that is being delivered. */
interface PendingCallback extends Omit<Message, 'body'> {
  accountId: string;
  attempts: number;
  /** Number of attempts since it was last sent again. */
  tries: number;
  /** Makes the body, which is the same on every attempt. */
  body(keyring: Keyring): string;
}

/** The body of a job's callback, the same on every attempt: therefore without the state of the callback. */
function bodyOf(job: JobDoc, id: string): string {
  const { callback: _callback, ...data } = jobRow(job);
  return envelopeOf(id, JOB_COMPLETED, job.endedAt ?? job.createdAt, data);
}

/** Finds a callback that is being delivered. @param id of a job, or of the callback of a batch or a schedule */
async function findPending(
  { jobs, batchCallbacks, scheduleCallbacks }: Stored,
  id: string,
): Promise<PendingCallback | null> {
  if (isScheduleCallback(id)) {
    const row = await scheduleCallbacks.findOne({ _id: id, state: 'pending' });
    if (row === null) return null;
    const { accountId, event, url, attempts, tries = attempts, createdAt, data } = row;
    const body = (keyring: Keyring) => envelopeOf(id, event, createdAt, sealedData.open(keyring, id, data));
    return { id, accountId, event, url, attempts, tries, body };
  }
  if (isBatchCallback(id)) {
    const row = await batchCallbacks.findOne({ _id: id, state: 'pending' });
    if (row === null) return null;
    const { accountId, event, url, attempts, tries = attempts, createdAt, data } = row;
    const body = () => envelopeOf(id, event, createdAt, JSON.parse(data));
    return { id, accountId, event, url, attempts, tries, body };
  }
  const job = await jobs.findOne({ _id: id, 'callback.state': 'pending' });
  if (job?.callback == null) return null;
  const { accountId, callback } = job;
  const callbackId = jobCallbackId(id);
  const { url, attempts, tries = attempts } = callback;
  const body = () => bodyOf(job, callbackId);
  return { id: callbackId, accountId, event: JOB_COMPLETED, url, attempts, tries, body };
}

interface CallbackServices extends PostServices {
  store: Stored;
  keyring: Keyring;
  secrets: Pick<CallbackSecrets, 'find'>;
}

/** Creates the attempt of a callback, for the `delivery` queue. */
export function createCallbackDelivery(services: CallbackServices): CallbackDeliveryActivities {
  const { store, keyring, secrets } = services;
  /** Number of callbacks that are being posted, by account. */
  const posting = new Map<string, number>();

  async function post({ accountId, body, ...callback }: PendingCallback) {
    const message = { ...callback, body: body(keyring) };
    const secret = await secrets.find(accountId);
    const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
    try {
      const secretsAt = (now: Date) => signingSecrets(keyring, secret, now);
      return await postSigned(services, message, secretsAt, cancellationSignal());
    } finally {
      clearInterval(beat);
    }
  }

  return {
    async postCallback(id) {
      const pending = await findPending(store, id);
      if (pending === null) return null;
      const { accountId } = pending;
      const open = posting.get(accountId) ?? 0;
      // Temporal repeats the attempt after a pause.
      if (open >= MAX_POSTS) throw new Error('too many callbacks of this account are being posted');
      posting.set(accountId, open + 1);
      try {
        const { statusCode, error, retryAfterMs } = await post(pending);
        return { ok: isSuccess(statusCode), statusCode, error, retryAfterMs };
      } finally {
        const left = (posting.get(accountId) ?? 1) - 1;
        if (left > 0) posting.set(accountId, left);
        else posting.delete(accountId);
      }
    },
  };
}
