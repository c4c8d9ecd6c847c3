import type { IncomingMessage } from 'node:http';
import { createSemaphorePerHolder } from '../../platform/semaphores.ts';
import { ServiceError } from '../../schemas/errors.ts';

/** Limits how many large request bodies of one account are received at the same time. */
export interface UploadLimit {
  /**
   * Waits until the body of the request may be received; at once for a small body. Until then the body is not read, and
   * TCP's flow control makes the caller wait. Disposing of the result frees the slot.
   *
   * @throws ServiceError rate_limited if no slot becomes free in time, or the caller disconnects
   */
  acquire(accountId: string, request: IncomingMessage): Promise<Disposable>;
}

/** Maximum number of large bodies of an account; of the largest size, 5 MB, together 60 MB. */
const SLOTS = 12;
/** Maximum size in bytes of a body that needs no slot. */
const SMALL_BYTES = 64 * 1024;
const WAIT_MS = 10_000;
const RETRY_AFTER_S = 5;

const NO_SLOT: Disposable = { [Symbol.dispose]: () => undefined };

/** A body without a stated length may be of any size. */
const isSmall = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= SMALL_BYTES;

/** @param waitMs maximum wait for a slot in milliseconds; set by tests */
export function createUploadLimit(waitMs = WAIT_MS): UploadLimit {
  const slots = createSemaphorePerHolder(SLOTS);

  return {
    async acquire(accountId, request) {
      if (isSmall(request)) return NO_SLOT;
      const closed = new AbortController();
      const onClose = () => closed.abort();
      request.once('close', onClose);
      try {
        const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(waitMs)]);
        return await slots.acquire(accountId, signal);
      } catch (error) {
        throw new ServiceError('rate_limited', {
          detail: `At most ${SLOTS} large request bodies of an account are received at the same time.`,
          retryAfter: RETRY_AFTER_S,
          cause: error,
        });
      } finally {
        request.off('close', onClose);
      }
    },
  };
}
