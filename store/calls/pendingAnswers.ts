import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Filter } from 'mongodb';
import type { ErrorCode } from '../../schemas/errors.ts';
import type { Lease } from '../mongo/lease.ts';
import type { Store } from '../mongo/mongo.ts';
import type { CallDoc, PendingAnswer } from './callDocs.ts';

/**
 * An API process's record of pending responses to callers that cannot request the result again.
 *
 * The document of such a call has `pendingAnswer` from the moment it is accepted, before its workflow starts. A
 * result counts as **delivered** when the operating system has taken the whole response (`finish`); then `pendingAnswer`
 * is removed. While it is set, a charged call is refunded if the caller got an error (`code`), or if no process will send
 * the response: the connection ended before, or the API process with the connection is gone (its lease expired).
 */
export interface PendingAnswers {
  /** Value of `pendingAnswer` in a new call; its response is a new one. */
  fresh(): PendingAnswer;
  /** Records that the response of a charged call was delivered. Returns at once and writes in the background. */
  delivered(callId: string): void;
  /**
   * Checks, just before a result is sent, that no other process has refunded the call. No-op while this process holds
   * its lease. If it may have lost the lease, it instead records the call as delivered, which fails if the call was
   * refunded, or if another process may send its result too.
   *
   * @param pending the record of the response
   * @throws if the result must not be sent, or MongoDB is unreachable
   */
  assertPending(callId: string, pending: PendingAnswer): Promise<void>;
  /**
   * Records that this new response will carry the result of the call, as well as the response that was recorded before. Can
   * be repeated. Returns false if that one was already sent or given up, or if the call has too many responses.
   */
  adopt(callId: string, pending: PendingAnswer): Promise<boolean>;
  /**
   * Records that the caller gets an error, even if the call is charged. From then on the sweeper settles the call.
   * Retries until the record is written or the process ends; in the latter case the sweeper settles the call once the
   * lease of the process has expired.
   *
   * @param call its `pendingAnswer` is the record of the response
   * @returns whether no other response can carry the result any more, so that the call is to be settled
   */
  undelivered(call: Pick<CallDoc, '_id' | 'pendingAnswer'>, code: ErrorCode): Promise<boolean>;
  /**
   * Records that the connection ended before the response was complete. Retries as `undelivered`.
   *
   * @param pending the record of the response
   * @returns whether no other response can carry the result any more, so that the call is to be settled
   */
  lost(callId: string, pending: PendingAnswer): Promise<boolean>;
  /** Writes the pending records to MongoDB; for a graceful shutdown. */
  close(): Promise<void>;
}

/** Pause between attempts to record an error. */
const RETRY_MS = 1000;
/**
 * `delivered` writes at once without waiting for MongoDB's journal. Batches at this interval repeat these writes
 * durably.
 */
const CONFIRM_INTERVAL_MS = 2000;

/** The responses of a call before the latest one, in an update. */
export const EARLIER = { $ifNull: ['$pendingAnswer.earlier', []] };
/** Maximum number of responses to requests with the same form, beside the latest one. */
const MAX_EARLIER = 9;
/** The recorded responses of a call, the latest one first. */
const ALL_RESPONSES = {
  $concatArrays: [[{ process: '$pendingAnswer.process', response: '$pendingAnswer.response' }], EARLIER],
};
/** The record of the latest earlier response, in the place of that of the latest one. */
export const EARLIER_INSTEAD = {
  $mergeObjects: [
    '$pendingAnswer',
    { $first: '$pendingAnswer.earlier' },
    { earlier: { $slice: ['$pendingAnswer.earlier', 1, MAX_EARLIER] } },
  ],
};

export function createPendingAnswers(
  { calls }: Pick<Store, 'calls'>,
  { processId, isHeld }: Pick<Lease, 'processId' | 'isHeld'>,
  onError: (error: unknown) => void,
): PendingAnswers {
  const closing = new AbortController();
  const mine = { 'pendingAnswer.process': processId };
  const oneOfMine = { $or: [mine, { 'pendingAnswer.earlier.process': processId }] };
  const done = { $unset: { pendingAnswer: '', earlyResponse: '' } } as const;
  /** Calls that `assertPending` recorded as delivered before their results were sent. */
  const early = new Set<string>();
  /** The responses of this process that are being sent, by call. */
  const sending = new Map<string, Set<string | undefined>>();
  /** Calls whose response was delivered, until that is recorded durably. */
  const unconfirmed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  /**
   * Repeats the writes of `delivered` with the durable write concern, so that a crash of MongoDB cannot restore
   * `pendingAnswer`.
   */
  async function confirm(): Promise<void> {
    timer = undefined;
    const batch = [...unconfirmed];
    if (batch.length === 0) return;
    const isOpen = { $or: [...oneOfMine.$or, { earlyResponse: { $exists: true } }] };
    await calls.updateMany({ _id: { $in: batch }, ...isOpen }, done);
    for (const callId of batch) unconfirmed.delete(callId);
  }
  function confirmLater(): void {
    timer ??= setTimeout(() => {
      confirm().catch((error: unknown) => {
        onError(error);
        confirmLater();
      });
    }, CONFIRM_INTERVAL_MS).unref();
  }

  const fresh = (): PendingAnswer => ({ process: processId, response: randomUUID(), code: null });

  /** Repeats a write until it succeeds or the process ends. */
  async function persist<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      closing.signal.throwIfAborted();
      try {
        return await write();
      } catch (error) {
        onError(error);
      }
      await sleep(RETRY_MS, undefined, { signal: closing.signal });
    }
  }

  /** Records that no process will send the result. Returns whether the call matched. */
  async function giveUp(filter: Filter<CallDoc>, code: ErrorCode | null): Promise<boolean> {
    const givenUp = {
      $set: { pendingAnswer: { process: null, code } },
      $unset: { 'timing.answeredAt': '', earlyResponse: '' } as const,
    };
    return (await calls.updateOne(filter, givenUp)).matchedCount > 0;
  }

  /**
   * Takes a response out of those that may carry the result. If it was the only one, no process will send the result, and the
   * caller got the error `code`. Another response may be recorded at the same time, so that several attempts are needed.
   *
   * @returns whether it was the `last` one, there are `others`, or it was not recorded (`gone`)
   */
  async function takeOut(
    callId: string,
    response: string,
    code: ErrorCode | null,
  ): Promise<'last' | 'others' | 'gone'> {
    const call = { _id: callId };
    const isLatest = { ...call, ...mine, 'pendingAnswer.response': response };
    const isEarlier = { ...call, 'pendingAnswer.earlier.response': response };
    for (;;) {
      if (await giveUp({ ...isLatest, 'pendingAnswer.earlier.0': { $exists: false } }, code)) return 'last';
      const left = await calls.updateOne(isEarlier, { $pull: { 'pendingAnswer.earlier': { response } } });
      if (left.matchedCount > 0) return 'others';
      const replaced = await calls.updateOne({ ...isLatest, 'pendingAnswer.earlier.0': { $exists: true } }, [
        { $set: { pendingAnswer: EARLIER_INSTEAD } },
      ]);
      if (replaced.matchedCount > 0) return 'others';
      if ((await calls.findOne({ $or: [isLatest, isEarlier] })) === null) return 'gone';
    }
  }

  /**
   * Records a call as delivered before its result is sent by the response `own`. Can be repeated. Returns false if another process
   * has refunded the call, has delivered its result, or may still do so.
   */
  async function recordEarly(callId: string, own: string | undefined): Promise<boolean> {
    for (;;) {
      const call = await calls.findOne({ _id: callId });
      const pending = call?.pendingAnswer;
      if (pending === undefined) {
        const { earlyResponse } = call ?? {};
        return earlyResponse !== undefined && sending.get(callId)?.has(earlyResponse) === true;
      }
      const { response, earlier = [] } = pending;
      if ([pending, ...earlier].some(({ process }) => process !== processId)) return false;
      const isSame = { _id: callId, ...mine, 'pendingAnswer.response': response ?? { $exists: false } };
      const early = {
        $unset: { pendingAnswer: '' } as const,
        $set: { 'timing.answeredAt': new Date(), ...(own !== undefined && { earlyResponse: own }) },
      };
      if ((await calls.updateOne(isSame, early)).matchedCount > 0) return true;
    }
  }

  /**
   * Gives up a response that was recorded as delivered before it was sent, if MongoDB's answer to that record was lost. Returns
   * whether the call is to be settled.
   */
  const giveUpEarly = async (callId: string, response: string, code: ErrorCode | null): Promise<boolean> =>
    !unconfirmed.has(callId) &&
    (await giveUp({ _id: callId, pendingAnswer: { $exists: false }, earlyResponse: response }, code));

  /** Removes a response from those that are being sent. Returns whether it was the last one of this process. */
  function leave(callId: string, response: string | undefined): boolean {
    const left = sending.get(callId);
    left?.delete(response);
    if (left !== undefined && left.size > 0) return false;
    sending.delete(callId);
    return true;
  }

  const wasDelivered = async (callId: string): Promise<boolean> =>
    (await calls.findOne({
      _id: callId,
      pendingAnswer: { $exists: false },
      'timing.answeredAt': { $exists: true },
    })) !== null;

  return {
    fresh,

    delivered(callId) {
      early.delete(callId);
      sending.delete(callId);
      unconfirmed.add(callId);
      confirmLater();
      // Sent at the same time as the response, so that a process that is killed right afterwards has sent both. If
      // the write fails, the next batch repeats it.
      calls
        .updateOne(
          { _id: callId, ...oneOfMine },
          { ...done, $set: { 'timing.answeredAt': new Date() } },
          { writeConcern: { w: 1, journal: false } },
        )
        .catch(() => undefined);
    },

    async assertPending(callId, { response }) {
      const responses = sending.get(callId) ?? new Set();
      sending.set(callId, responses.add(response));
      if (isHeld() || early.has(callId)) return;
      if (await recordEarly(callId, response)) early.add(callId);
      else if (!(await wasDelivered(callId)))
        throw new Error(`call ${callId} was refunded in the meantime, or another process may answer it`);
    },

    async adopt(callId, pendingAnswer) {
      const { response } = pendingAnswer;
      const canFollow = {
        'pendingAnswer.process': { $type: 'string' },
        'pendingAnswer.response': { $ne: response },
        'pendingAnswer.earlier.response': { $ne: response },
        [`pendingAnswer.earlier.${MAX_EARLIER - 1}`]: { $exists: false },
      } as const;
      const { matchedCount } = await calls.updateOne({ _id: callId, ...canFollow }, [
        {
          $set: {
            pendingAnswer: { $mergeObjects: [{ $literal: pendingAnswer }, { earlier: ALL_RESPONSES }] },
          },
        },
      ]);
      if (matchedCount > 0) return true;
      const recorded = [
        { 'pendingAnswer.response': response },
        { 'pendingAnswer.earlier.response': response },
      ];
      return (await calls.findOne({ _id: callId, $or: recorded })) !== null;
    },

    async undelivered({ _id, pendingAnswer }, code) {
      const response = pendingAnswer?.response;
      const isLast = leave(_id, response);
      if (early.has(_id) && !isLast) return false;
      if (early.delete(_id) || response === undefined) return persist(() => giveUp({ _id }, code));
      const isOpen = { $or: [{ pendingAnswer: { $exists: false } }, { 'pendingAnswer.process': null }] };
      return persist(async () => {
        const found = await takeOut(_id, response, code);
        if (found !== 'gone') return found === 'last';
        if (isLast && (await giveUpEarly(_id, response, code))) return true;
        return !(await wasDelivered(_id)) && (await giveUp({ _id, ...isOpen }, code));
      });
    },

    async lost(callId, { response }) {
      const isLast = leave(callId, response);
      // The record names no responses any more.
      if (early.has(callId) && !isLast) return false;
      if (early.delete(callId))
        return persist(() => giveUp({ _id: callId, pendingAnswer: { $exists: false } }, null));
      if (response === undefined) return persist(() => giveUp({ _id: callId, ...mine }, null));
      return persist(async () => {
        const found = await takeOut(callId, response, null);
        if (found === 'gone' && isLast) return giveUpEarly(callId, response, null);
        return found === 'last';
      });
    },

    async close() {
      closing.abort();
      clearTimeout(timer);
      await confirm();
    },
  };
}
