import { randomUUID } from 'node:crypto';
import type { ClientSession } from 'mongodb';
import type { BatchCallbackRow, BatchEvent } from '../../schemas/batches.ts';
import { attemptRows, historyEntry, SENDABLE, sentAgain } from '../jobs/callbacks.ts';
import type { AttemptedCallback } from '../jobs/jobDocs.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import type { BatchCallbackDoc, BatchDoc } from './batchDocs.ts';
import { batchRow } from './batchRow.ts';

const PREFIX = 'cbk_';

/** Whether an id is that of a batch's callback; those of jobs' callbacks are ids of jobs. */
export const isBatchCallback = (id: string): boolean => id.startsWith(PREFIX);

/** Stores the callback of a change, in the transaction of the change. @returns its id; null if none was requested */
export async function storeCallback(
  { batchCallbacks }: Pick<Store, 'batchCallbacks'>,
  event: BatchEvent,
  batch: BatchDoc,
  session: ClientSession,
): Promise<string | null> {
  const { _id: batchId, accountId, callbackUrl, deleteAt } = batch;
  if (callbackUrl === null) return null;
  const now = new Date();
  const id = `${PREFIX}${randomUUID()}`;
  const row: BatchCallbackDoc = {
    _id: id,
    batchId,
    accountId,
    event,
    data: JSON.stringify(batchRow(batch)),
    createdAt: now,
    url: callbackUrl,
    state: 'pending',
    attempts: 0,
    statusCode: null,
    error: null,
    nextAt: now,
    deleteAt,
  };
  await batchCallbacks.insertOne(row, { session });
  return id;
}

/** Records an attempt of a callback, once. */
export async function recordAttempt(
  { batchCallbacks }: Pick<Store, 'batchCallbacks'>,
  id: string,
  attempt: AttemptedCallback,
): Promise<void> {
  await batchCallbacks.updateOne(
    { _id: id, state: 'pending', attempts: { $lt: attempt.attempts } },
    { $set: attempt, $push: { history: historyEntry(attempt) } },
  );
}

/** The callbacks of a batch or a schedule that can be sent again, and how they are queued. */
export interface SendableCallbacks {
  /** Returns those of these callbacks that belong to their owner, or its newest failed ones if none are named. */
  select(ownerId: string, ids: readonly string[] | undefined): Promise<string[]>;
  /** Queues callbacks again. */
  queue(ids: readonly string[]): Promise<void>;
}

/** @param most maximum number of callbacks that are sent again at once */
export const sendableCallbacks = (
  { batchCallbacks }: Pick<Store, 'batchCallbacks'>,
  most: number,
): SendableCallbacks => ({
  async select(batchId, ids) {
    const which =
      ids === undefined
        ? { state: 'failed' as const }
        : { _id: { $in: [...ids] }, state: { $in: [...SENDABLE] } };
    const rows = await batchCallbacks
      .find({ batchId, ...which }, { projection: { _id: 1 } })
      .sort({ createdAt: -1, _id: -1 })
      .limit(most)
      .toArray();
    return rows.map(({ _id }) => _id);
  },
  async queue(ids) {
    await batchCallbacks.updateMany({ _id: { $in: [...ids] } }, [{ $set: sentAgain('') }]);
  },
});

/** Returns a page of the callbacks of a batch, newest first. */
export const listCallbacks = (
  { batchCallbacks }: Pick<Store, 'batchCallbacks'>,
  batchId: string,
  page: PageRequest,
): Promise<Page<BatchCallbackDoc>> =>
  pageByTime('callbacks', (condition) => batchCallbacks.find({ batchId, ...condition }), 'createdAt', page);

/** A callback of a batch or of a schedule as its owner sees it. */
export function callbackRow<Event extends string>({
  _id: id,
  ...callback
}: Omit<BatchCallbackDoc, 'batchId' | 'event'> & { event: Event }): Omit<BatchCallbackRow, 'event'> & {
  event: Event;
} {
  const { event, createdAt, url, state, attempts, statusCode, error } = callback;
  return {
    id,
    event,
    createdAt: createdAt.toISOString(),
    url,
    state: state === 'waiting' ? 'pending' : state,
    attempts,
    statusCode,
    error,
    history: attemptRows(callback),
  };
}
