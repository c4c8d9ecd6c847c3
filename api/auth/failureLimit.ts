import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { countEvent, createCounter } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { pauseRefusal } from '../http/refusalPause.ts';
import { addressKey } from './addressKey.ts';
import type { FailureLimit } from './authenticate.ts';

/**
 * Maximum number of failed authentications per client address and minute. Requests with a valid key are never limited
 * by it.
 */
const FAILURES = 60;
const WINDOW_SECONDS = 60;

/** Creates the limit on 401 responses per client address. @param limit null disables it */
export function createFailureLimit(store: Store, limit: RateLimit | null): FailureLimit {
  if (limit === null) return async () => {};
  const failures = createCounter(store, {
    collection: 'failures',
    max: FAILURES,
    seconds: WINDOW_SECONDS,
    blocks: true,
  });
  return async (address) => {
    const retryAfter = await countEvent(failures, addressKey(address));
    if (retryAfter === null) return;
    await pauseRefusal(addressKey(address));
    throw new ServiceError('rate_limited', { retryAfter });
  };
}
