import type { ClientSession } from 'mongodb';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { SCHEDULE_CHANGED } from '../../schemas/schedules.ts';
import type { SendableCallbacks } from '../batches/batchCallbacks.ts';
import { historyEntry, SENDABLE, sentAgain } from '../jobs/callbacks.ts';
import type { AttemptedCallback } from '../jobs/jobDocs.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import type { ScheduleCallbackDoc, ScheduleDoc, ScheduleRunDoc } from './scheduleDocs.ts';
import { runRow } from './scheduleRow.ts';
import { sealedData } from './sealed.ts';

const PREFIX = 'cbk_run_';
/** How long callbacks are listed. */
const KEPT_MS = 30 * 86_400_000;

/** Whether an id is that of a callback of a schedule. */
export const isScheduleCallback = (id: string): boolean => id.startsWith(PREFIX);

/** Id of the callback of a run, which has at most one. */
const callbackIdOf = (runId: string): string => `cbk_${runId}`;

/** Stores the callback of a run that has ended, in the transaction of its end. @returns its id; null if none was requested */
export async function storeScheduleCallback(
  { scheduleCallbacks }: Pick<Store, 'scheduleCallbacks'>,
  keyring: Keyring,
  { _id: scheduleId, accountId, name, callbackUrl, baseUrl }: ScheduleDoc,
  run: ScheduleRunDoc,
  session: ClientSession,
): Promise<string | null> {
  if (callbackUrl === null) return null;
  const now = new Date();
  const id = callbackIdOf(run._id);
  const { jobId } = run;
  const data = {
    schedule: { id: scheduleId, name },
    run: runRow(keyring, run),
    resultUrl: jobId === null ? null : `${baseUrl}/api/v1/jobs/${jobId}/result`,
  };
  const row: ScheduleCallbackDoc = {
    _id: id,
    scheduleId,
    accountId,
    event: SCHEDULE_CHANGED,
    data: sealedData.seal(keyring, id, data),
    createdAt: now,
    url: callbackUrl,
    state: 'pending',
    attempts: 0,
    statusCode: null,
    error: null,
    nextAt: now,
    deleteAt: new Date(now.getTime() + KEPT_MS),
  };
  await scheduleCallbacks.insertOne(row, { session });
  return id;
}

/** Records an attempt of a callback, once. */
export async function recordScheduleAttempt(
  { scheduleCallbacks }: Pick<Store, 'scheduleCallbacks'>,
  id: string,
  attempt: AttemptedCallback,
): Promise<void> {
  await scheduleCallbacks.updateOne(
    { _id: id, state: 'pending', attempts: { $lt: attempt.attempts } },
    { $set: attempt, $push: { history: historyEntry(attempt) } },
  );
}

/** The callbacks of schedules that can be sent again. @param most maximum number of callbacks that are sent again at once */
export const sendableScheduleCallbacks = (
  { scheduleCallbacks }: Pick<Store, 'scheduleCallbacks'>,
  keyring: Keyring,
  most: number,
): SendableCallbacks => ({
  async select(scheduleId, ids) {
    const which =
      ids === undefined
        ? { state: 'failed' as const }
        : { _id: { $in: [...ids] }, state: { $in: [...SENDABLE] } };
    const rows = await scheduleCallbacks
      .find({ scheduleId, ...which }, { projection: { data: 1 } })
      .sort({ createdAt: -1, _id: -1 })
      .limit(most)
      .toArray();
    // What a master key encrypted that is gone cannot be sent.
    return rows
      .filter(({ data }) => keyring.has(keyring.keyIdOf(Buffer.from(data, 'base64'))))
      .map(({ _id }) => _id);
  },
  async queue(ids) {
    await scheduleCallbacks.updateMany({ _id: { $in: [...ids] } }, [{ $set: sentAgain('') }]);
  },
});

/** Returns a page of the callbacks of a schedule, newest first. */
export const listScheduleCallbacks = (
  { scheduleCallbacks }: Pick<Store, 'scheduleCallbacks'>,
  scheduleId: string,
  page: PageRequest,
): Promise<Page<ScheduleCallbackDoc>> =>
  pageByTime(
    'callbacks',
    (condition) => scheduleCallbacks.find({ scheduleId, ...condition }),
    'createdAt',
    page,
  );
