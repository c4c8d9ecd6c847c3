import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { MAX_SCHEDULE_CHANGES, MAX_TRIGGERS } from '../../schemas/schedules.ts';
import { countEvent, createCounter } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';

const DAY_SECONDS = 86_400;

/** Counts something that an account does. @throws ServiceError rate_limited above the limit */
type Take = (accountId: string) => Promise<void>;

/** Limits of an account in 24 hours. */
export interface ScheduleLimits {
  /** A run that is triggered. */
  takeTrigger: Take;
  /** A schedule that is created or changed. */
  takeChange: Take;
}

/** Creates the limits, which all API processes share. @param limit null disables them */
export function createScheduleLimits(store: Store, limit: RateLimit | null): ScheduleLimits {
  function limitOf(name: string, max: number, detail: string): Take {
    if (limit === null) return async () => undefined;
    const counter = createCounter(store, { name, max, seconds: DAY_SECONDS });
    return async (accountId) => {
      const retryAfter = await countEvent(counter, accountId);
      if (retryAfter !== null) throw new ServiceError('rate_limited', { detail, retryAfter });
    };
  }
  return {
    takeTrigger: limitOf(
      'trigger',
      MAX_TRIGGERS,
      `An account can trigger ${MAX_TRIGGERS} runs of schedules in 24 hours.`,
    ),
    takeChange: limitOf(
      'schedule-change',
      MAX_SCHEDULE_CHANGES,
      `An account can create and change schedules ${MAX_SCHEDULE_CHANGES} times in 24 hours.`,
    ),
  };
}
