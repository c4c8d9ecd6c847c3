import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorCode } from '../schemas/errors.ts';
import type { Lease } from './lease.ts';
import type { CallDoc, PendingAnswer, Store } from './mongo.ts';

/**
 * An API process's record of the answers that it owes to callers who cannot ask again.
 *
 * The row of such a call is written with `pendingAnswer` when the call is accepted, before its workflow starts. A result
 * counts as **delivered** when Node has handed the whole response to the operating system (`finish`), or when the caller
 * closed the connection; `pendingAnswer` is removed then. As long as it is there, the price of a charged call is given
 * back once the caller got an error (`code`) or once the API process that has the connection is gone (its lease expired).
 */
export interface PendingAnswers {
  /** What the row of a new call carries. */
  fresh(): PendingAnswer;
  /** The response of a charged call was delivered. Returns at once; the write goes on in the background. */
  delivered(callId: string): void;
  /**
   * Checks, just before a result is sent, that no other process has given its price back. Costs nothing while the lease
   * is held. Without it the call is recorded as delivered here and now.
   *
   * @throws when the price was given back, or MongoDB cannot be reached
   */
  assertPending(callId: string): Promise<void>;
  /** Makes this process the one that answers; false when the answer is not pending any more. */
  adopt(callId: string): Promise<boolean>;
  /**
   * Records that the caller gets an error, whatever the call may be charged. From then on the sweeper settles it.
   * Retries until it is written or the process ends, in which case the expired lease leads to the same end.
   */
  undelivered(call: Pick<CallDoc, '_id'>, code: ErrorCode): Promise<void>;
  /** Writes what is still unwritten; for an orderly end of the process. */
  close(): Promise<void>;
}

/** Between tries to write that a caller got an error. */
const RETRY_MS = 1000;
/** `delivered` is written at once, unacknowledged by the journal, and confirmed in batches so often. */
const CONFIRM_EVERY_MS = 2000;

export function createPendingAnswers(
  { calls }: Pick<Store, 'calls'>,
  { processId, isHeld }: Pick<Lease, 'processId' | 'isHeld'>,
  onError: (error: unknown) => void,
): PendingAnswers {
  const closing = new AbortController();
  const mine = { 'pendingAnswer.process': processId };
  const done = { $unset: { pendingAnswer: '' as const } };
  let unconfirmed: string[] = [];
  let timer: NodeJS.Timeout | undefined;

  /** With the store's own write concern, so that a crash of MongoDB does not bring a mark back. */
  async function confirm(): Promise<void> {
    timer = undefined;
    const batch = unconfirmed;
    unconfirmed = [];
    if (batch.length === 0) return;
    try {
      await calls.updateMany({ _id: { $in: batch }, ...mine }, done);
    } catch (error) {
      unconfirmed.push(...batch);
      throw error;
    }
  }
  function confirmLater(): void {
    timer ??= setTimeout(() => {
      confirm().catch((error: unknown) => {
        onError(error);
        confirmLater();
      });
    }, CONFIRM_EVERY_MS).unref();
  }

  return {
    fresh: () => ({ process: processId, code: null }),

    delivered(callId) {
      unconfirmed.push(callId);
      confirmLater();
      // Sent in the same moment as the response: a process that is killed right after it has sent both. What fails here
      // is written with the batch.
      calls
        .updateOne({ _id: callId, ...mine }, done, { writeConcern: { w: 1, journal: false } })
        .catch(() => undefined);
    },

    async assertPending(callId) {
      if (isHeld()) return;
      const { matchedCount } = await calls.updateOne({ _id: callId, ...mine }, done);
      if (matchedCount === 0) throw new Error(`the price of call ${callId} was given back in the meantime`);
    },

    async adopt(callId) {
      const { matchedCount } = await calls.updateOne(
        { _id: callId, 'pendingAnswer.process': { $type: 'string' } },
        { $set: { 'pendingAnswer.process': processId } },
      );
      return matchedCount > 0;
    },

    async undelivered({ _id }, code) {
      const told = { $set: { pendingAnswer: { process: null, code } } };
      for (;;) {
        closing.signal.throwIfAborted();
        try {
          await calls.updateOne({ _id }, told);
          return;
        } catch (error) {
          onError(error);
        }
        await sleep(RETRY_MS, undefined, { signal: closing.signal });
      }
    },

    async close() {
      closing.abort();
      clearTimeout(timer);
      await confirm();
    },
  };
}
