import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { MAX_TRIGGERS } from '../../schemas/schedules.ts';
import { countEvent, createCounter } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';

const DAY_SECONDS = 86_400;

/** Counts a run that an account triggers. @throws ServiceError rate_limited above the limit */
export type TakeTrigger = (accountId: string) => Promise<void>;

/** Creates the limit, which all API processes share. @param limit null disables it */
export function createTriggerLimit(store: Store, limit: RateLimit | null): TakeTrigger {
  if (limit === null) return async () => undefined;
  const counter = createCounter(store, { name: 'trigger', max: MAX_TRIGGERS, seconds: DAY_SECONDS });
  return async (accountId) => {
    const retryAfter = await countEvent(counter, accountId);
    if (retryAfter === null) return;
    const detail = `An account can trigger ${MAX_TRIGGERS} runs of schedules in 24 hours.`;
    throw new ServiceError('rate_limited', { detail, retryAfter });
  };
}
