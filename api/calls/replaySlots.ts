import { createFairSemaphore, createSemaphorePerHolder } from '../../platform/semaphores.ts';
import { ServiceError } from '../../schemas/errors.ts';

/**
 * Maximum number of stored results of one account that a process replays at the same time, from reading them to the end of
 * the response. The largest have 50 MB.
 */
const MAX_REPLAYS = 4;
/** Maximum number of stored results that a process reads at the same time; copies of each are in memory then. */
const MAX_READS = 4;
/**
 * Milliseconds for each MB above the first for which the slot of an account stays taken after the response. An API process, which has one
 * thread for all callers, needs up to 30 ms per MB to decrypt and encode a result: so replays of an account take it for at most a quarter
 * of the time.
 */
const REST_MS_PER_MB = 450;
/**
 * The same for the first response of a call, which is paid unless it is not read to its end: so first responses of an account take the
 * thread for at most half of the time.
 */
const FIRST_REST_MS_PER_MB = 150;
const REPLAY_WAIT_MS = 10_000;
const REPLAY_RETRY_S = 5;
const MB = 1_000_000;

/** The slot for reading a stored result. */
export interface ReadSlot extends Disposable {
  /** Notes the size of the result in bytes. */
  noteSize(bytes: number): void;
}

/** Bounds the memory and the time of responses with stored results: of calls, their replays, and results of jobs. */
export interface ReplaySlots {
  /**
   * Waits until a stored result may be replayed. That slot is free again when the response has ended, or later if the result is large.
   *
   * @param hangup aborted when the response has ended
   * @returns the slot for reading the result
   * @throws ServiceError rate_limited, pool_busy
   */
  acquire(accountId: string, hangup: AbortSignal): Promise<ReadSlot>;
  /**
   * Waits until a stored result may be read for the first response of its call. That slot is free again when it has been read, or
   * later if it is large.
   *
   * @param end ends the wait, as 10 s do; the result may then be read at once
   */
  acquireFirst(accountId: string, end: AbortSignal): Promise<ReadSlot>;
}

const restOf = (bytes: number, msPerMb: number): number => Math.round(Math.max(0, bytes / MB - 1) * msPerMb);

/** Frees a slot after a rest. */
function leaveAfter(slot: Disposable, restMs: number): void {
  if (restMs > 0) setTimeout(() => slot[Symbol.dispose](), restMs).unref();
  else slot[Symbol.dispose]();
}

export function createReplaySlots(): ReplaySlots {
  const replays = createSemaphorePerHolder(MAX_REPLAYS);
  const firsts = createSemaphorePerHolder(MAX_REPLAYS);
  const reads = createFairSemaphore(MAX_READS);
  return {
    async acquire(accountId, hangup) {
      const signal = AbortSignal.any([hangup, AbortSignal.timeout(REPLAY_WAIT_MS)]);
      const slot = await replays.acquire(accountId, signal).catch((error) => {
        throw new ServiceError('rate_limited', {
          detail: `At most ${MAX_REPLAYS} large results of an account are replayed at the same time, and further ones after a pause.`,
          retryAfter: REPLAY_RETRY_S,
          cause: error,
        });
      });
      let restMs = 0;
      const leave = () => leaveAfter(slot, restMs);
      if (hangup.aborted) leave();
      else hangup.addEventListener('abort', leave, { once: true });
      const read = await reads.acquire(accountId, signal).catch((error) => {
        throw new ServiceError('pool_busy', {
          detail: 'Many large results are being replayed. Try again in a few seconds.',
          retryAfter: REPLAY_RETRY_S,
          cause: error,
        });
      });
      return {
        noteSize(bytes) {
          restMs = restOf(bytes, REST_MS_PER_MB);
        },
        [Symbol.dispose]: () => read[Symbol.dispose](),
      };
    },

    async acquireFirst(accountId, end) {
      const signal = AbortSignal.any([end, AbortSignal.timeout(REPLAY_WAIT_MS)]);
      const slot = await firsts.acquire(accountId, signal).catch(() => null);
      const read = await reads.acquire(accountId, signal).catch(() => null);
      let restMs = 0;
      return {
        noteSize(bytes) {
          restMs = restOf(bytes, FIRST_REST_MS_PER_MB);
        },
        [Symbol.dispose]() {
          read?.[Symbol.dispose]();
          if (slot !== null) leaveAfter(slot, restMs);
        },
      };
    },
  };
}
