import { RateLimiterMemory } from 'rate-limiter-flexible';
import { createFairSemaphore } from '../../platform/semaphores.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { countEvent } from '../../store/mongo/counters.ts';
import { addressKey } from '../auth/addressKey.ts';
import { pauseRefusal } from './refusalPause.ts';

/**
 * Maximum number of requests without a key per client address and minute, in each API process. Programs that wait for a
 * sign-in send 30, and hosted agents refresh the tokens of many users from few addresses.
 */
const REQUESTS = 600;
const WINDOW_SECONDS = 60;
/**
 * Maximum number of requests without a key that use MongoDB at the same time in an API process, so that its connections to
 * MongoDB (100) and its processor stay free for calls.
 */
const SLOTS = 8;
const WAIT_MS = 10_000;
const RETRY_AFTER_S = 5;

/** Limits the requests that anyone can send without a key or session, before they reach MongoDB. */
export interface PageLimit {
  /** Counts a request of a client address, in memory. @throws ServiceError rate_limited, after a pause */
  count(address: string): Promise<void>;
  /**
   * Waits for one of the slots for requests without a key; the address that holds the fewest gets the next one. The body
   * of the request must have been received, because a slow client would keep the slot.
   *
   * @throws ServiceError pool_busy if none becomes free in time
   */
  acquire(address: string): Promise<Disposable>;
}

/** @param limit null disables both limits */
export function createPageLimit(limit: RateLimit | null): PageLimit {
  if (limit === null)
    return { count: async () => undefined, acquire: async () => ({ [Symbol.dispose]: () => undefined }) };
  const requests = new RateLimiterMemory({ points: REQUESTS, duration: WINDOW_SECONDS });
  const slots = createFairSemaphore(SLOTS);
  return {
    async count(address) {
      const retryAfter = await countEvent(requests, addressKey(address));
      if (retryAfter === null) return;
      await pauseRefusal();
      throw new ServiceError('rate_limited', {
        detail: `At most ${REQUESTS} requests without a key are answered per minute and client address.`,
        retryAfter,
      });
    },

    acquire: (address) =>
      slots.acquire(addressKey(address), AbortSignal.timeout(WAIT_MS)).catch((error) => {
        throw new ServiceError('pool_busy', {
          detail: 'Too many requests without a key are waiting. Try again in a few seconds.',
          retryAfter: RETRY_AFTER_S,
          cause: error,
        });
      }),
  };
}
