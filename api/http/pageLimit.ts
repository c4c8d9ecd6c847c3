import { RateLimiterMemory } from 'rate-limiter-flexible';
import { createFairSemaphore, type FairSemaphore } from '../../platform/semaphores.ts';
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
/** The pause after a page was rendered, as a multiple of the time that it took, and its maximum in milliseconds. */
const RESTS = 2;
const LONGEST_REST_MS = 200;

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
  /**
   * Counts a request for a page that is made for it, and makes it. This process makes one such page at a time, for the address that waits
   * for the fewest, and then none for twice as long: its only thread is free for calls most of the time.
   *
   * @throws ServiceError rate_limited, pool_busy
   */
  render<T>(address: string, page: () => Promise<T>): Promise<T>;
}

/** @param limit null disables both limits */
export function createPageLimit(limit: RateLimit | null): PageLimit {
  if (limit === null)
    return {
      count: async () => undefined,
      acquire: async () => ({ [Symbol.dispose]: () => undefined }),
      render: (_address, page) => page(),
    };
  const requests = new RateLimiterMemory({ points: REQUESTS, duration: WINDOW_SECONDS });
  const slots = createFairSemaphore(SLOTS);
  const renders = createFairSemaphore(1);
  const take = (from: FairSemaphore, address: string) =>
    from.acquire(addressKey(address), AbortSignal.timeout(WAIT_MS)).catch((error) => {
      throw new ServiceError('pool_busy', {
        detail: 'Too many requests without a key are waiting. Try again in a few seconds.',
        retryAfter: RETRY_AFTER_S,
        cause: error,
      });
    });

  async function count(address: string): Promise<void> {
    const retryAfter = await countEvent(requests, addressKey(address));
    if (retryAfter === null) return;
    await pauseRefusal(addressKey(address));
    throw new ServiceError('rate_limited', {
      detail: `At most ${REQUESTS} requests without a key are answered per minute and client address.`,
      retryAfter,
    });
  }

  return {
    count,
    acquire: (address) => take(slots, address),

    async render(address, page) {
      await count(address);
      const slot = await take(renders, address);
      const began = performance.now();
      try {
        return await page();
      } finally {
        const restMs = Math.min(LONGEST_REST_MS, RESTS * (performance.now() - began));
        setTimeout(() => slot[Symbol.dispose](), restMs).unref();
      }
    },
  };
}
