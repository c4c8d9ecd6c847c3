import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { countEvent, createCounter } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { addressKey } from '../auth/addressKey.ts';

/** Maximum number of trial calls per client address and hour. */
export const TRIALS_BY_ADDRESS = 20;
const WINDOW_SECONDS = 3600;

/** Counts a trial call of a client address. @throws ServiceError rate_limited above the limit */
export type TrialLimit = (address: string) => Promise<void>;

/** Creates the limit on trial calls per client address. @param limit null disables it */
export function createTrialLimit(store: Store, limit: RateLimit | null): TrialLimit {
  if (limit === null) return async () => {};
  const trials = createCounter(store, {
    collection: 'trials',
    max: TRIALS_BY_ADDRESS,
    seconds: WINDOW_SECONDS,
    blocks: true,
  });
  return async (address) => {
    const retryAfter = await countEvent(trials, addressKey(address));
    if (retryAfter === null) return;
    const minutes = Math.ceil(retryAfter / 60);
    throw new ServiceError('rate_limited', {
      detail: `An address can make ${TRIALS_BY_ADDRESS} trial calls per hour. Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, or create an account; it has free credits.`,
      retryAfter,
    });
  };
}
