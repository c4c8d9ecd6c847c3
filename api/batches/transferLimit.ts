import { createSemaphorePerHolder, type Slot } from '../../platform/semaphores.ts';
import { ServiceError } from '../../schemas/errors.ts';

/** Limits how many bodies, downloads or streams of an account a process has at the same time. */
export interface TransferLimit {
  /** Waits for a slot. @param signal ends the wait @throws ServiceError rate_limited if none is free in time */
  acquire(accountId: string, signal?: AbortSignal): Promise<Slot>;
}

interface Transfers {
  /** Maximum number of transfers of an account. */
  most: number;
  /** How long further ones wait, in milliseconds. */
  waitMs: number;
  /** What is limited, for the error: `batches of an account are received`. */
  what: string;
}

/** Seconds after which a request that found no slot is repeated. */
const RETRY_AFTER = 5;

export function createTransferLimit({ most, waitMs, what }: Transfers): TransferLimit {
  const slots = createSemaphorePerHolder(most);
  return {
    acquire: (accountId, signal) =>
      slots
        .acquire(accountId, AbortSignal.any([AbortSignal.timeout(waitMs), ...(signal ? [signal] : [])]))
        .catch((error) => {
          throw new ServiceError('rate_limited', {
            detail: `At most ${most} ${what} at the same time.`,
            retryAfter: RETRY_AFTER,
            cause: error,
          });
        }),
  };
}
