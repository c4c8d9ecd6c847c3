import type { ServerResponse } from 'node:http';
import { createSemaphorePerHolder, type Slot } from '../../platform/semaphores.ts';
import { ServiceError } from '../../schemas/errors.ts';

/** Limits how many bodies, downloads or streams of an account or of a file a process has at the same time. */
export interface TransferLimit {
  /** Waits for a slot. @param signal ends the wait @throws ServiceError rate_limited if none is free in time */
  acquire(holder: string, signal?: AbortSignal): Promise<Slot>;
  /** Waits for a slot, which is free again when the response has ended. @throws as `acquire` */
  hold(holder: string, response: ServerResponse): Promise<void>;
}

interface Transfers {
  /** Maximum number of transfers of a holder. */
  most: number;
  /** How long further ones wait, in milliseconds. */
  waitMs: number;
  /** Names the limited transfers in the error: `batches of an account are received`. */
  what: string;
}

/** Seconds after which a request that found no slot is repeated. */
const RETRY_AFTER = 5;

export function createTransferLimit({ most, waitMs, what }: Transfers): TransferLimit {
  const slots = createSemaphorePerHolder(most);
  const acquire: TransferLimit['acquire'] = (holder, signal) =>
    slots
      .acquire(holder, AbortSignal.any([AbortSignal.timeout(waitMs), ...(signal ? [signal] : [])]))
      .catch((error) => {
        throw new ServiceError('rate_limited', {
          detail: `At most ${most} ${what} at the same time.`,
          retryAfter: RETRY_AFTER,
          cause: error,
        });
      });
  return {
    acquire,
    async hold(holder, response) {
      const slot = await acquire(holder);
      const end = () => slot[Symbol.dispose]();
      if (response.closed) end();
      else response.once('close', end);
    },
  };
}
