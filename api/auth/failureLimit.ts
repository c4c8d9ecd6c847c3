import { RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { Store } from '../../store/mongo.ts';
import { addressKey } from './addressKey.ts';
import type { FailureLimit } from './authenticate.ts';

/**
 * Maximum number of failed authentications per client address and minute. Requests with a valid key are never limited
 * by it.
 */
const FAILURES = 60;
const WINDOW_SECONDS = 60;

/** Creates the limit on 401 responses per client address, counted across all API processes. */
export function createFailureLimit(store: Store, limit: RateLimit | null): FailureLimit {
  if (limit === null) return async () => {};
  const limiter = new RateLimiterMongo({
    storeClient: store.client,
    dbName: store.db.databaseName,
    tableName: 'failures',
    points: FAILURES,
    duration: WINDOW_SECONDS,
    inMemoryBlockOnConsumed: FAILURES + 1,
    inMemoryBlockDuration: WINDOW_SECONDS,
  });
  return async (address) => {
    try {
      await limiter.consume(addressKey(address));
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      throw new ServiceError('rate_limited', {
        retryAfter: Math.max(1, Math.ceil(error.msBeforeNext / 1000)),
      });
    }
  };
}
