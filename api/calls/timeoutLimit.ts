import { LRUCache } from 'lru-cache';
import type { RateLimit } from '../../schemas/envValues.ts';
import { type ErrorCode, ServiceError } from '../../schemas/errors.ts';
import { countEvent, createCounter } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';

/** Calls of an account that may end at their time limit, without a charge, within `WINDOW_SECONDS`. */
const TIMEOUTS = 120;
const WINDOW_SECONDS = 600;
/** Errors of calls that have used up their time. */
const ENDED_BY_TIME: readonly ErrorCode[] = ['deadline_exceeded', 'target_timeout'];
/** Number of accounts above the limit that a process remembers. */
const BLOCKED = 10_000;

/** Limits the calls of an account that end at their time limit: they hold a worker slot for long and cost nothing. */
export interface TimeoutLimit {
  /** Refuses a new call of an account above the limit, without a request to the database. @throws ServiceError rate_limited */
  check(accountId: string): void;
  /** Counts the end of a call, if it has used up its time. */
  count(accountId: string, code: ErrorCode): void;
}

/**
 * Creates the limit. All API processes count together; each refuses calls from the first timeout on that it counts above the
 * limit.
 *
 * @param limit null disables it
 * @param onError receives errors of the database; such a timeout is not counted
 */
export function createTimeoutLimit(
  store: Store,
  limit: RateLimit | null,
  onError: (error: unknown) => void,
  points = TIMEOUTS,
): TimeoutLimit {
  if (limit === null) return { check: () => undefined, count: () => undefined };
  const timeouts = createCounter(store, { collection: 'timeouts', max: points, seconds: WINDOW_SECONDS });
  const blocked = new LRUCache<string, true>({ max: BLOCKED });
  return {
    check(accountId) {
      const leftMs = blocked.getRemainingTTL(accountId);
      if (leftMs <= 0) return;
      throw new ServiceError('rate_limited', {
        detail: `${points} calls of this account have ended at their time limit within ten minutes.`,
        retryAfter: Math.max(1, Math.ceil(leftMs / 1000)),
      });
    },
    count(accountId, code) {
      if (!ENDED_BY_TIME.includes(code)) return;
      countEvent(timeouts, accountId).then((seconds) => {
        if (seconds !== null) blocked.set(accountId, true, { ttl: seconds * 1000 });
      }, onError);
    },
  };
}
