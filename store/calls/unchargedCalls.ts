import type { RateLimit } from '../../schemas/envValues.ts';
import { usageOf } from '../billing/usage.ts';
import { createCounter } from '../mongo/counters.ts';
import type { Store } from '../mongo/mongo.ts';

/**
 * Number of calls of an account that may end without a charge in a day, in addition to its charged calls of the day
 * (UTC). Each leaves a document for a week.
 */
export const FREE_ENDS = 5000;
const DAY_SECONDS = 86_400;
/** Number of calls after which an account above the limit is checked again. */
const CHECK_EVERY = 100;

/** Limits the calls of an account that end without a charge. */
export interface UnchargedCalls {
  /**
   * Counts calls. An account with too many of them may make no new calls until the window ends.
   *
   * @param ended number of calls. Default: 1
   * @returns the number of calls in the window
   */
  count(accountId: string, ended?: number): Promise<number>;
}

/**
 * Creates the limit, which all processes share.
 *
 * @param limit null disables it
 * @param onPause receives the account that may make no new calls, and until when
 */
export function createUnchargedCalls(
  store: Store,
  limit: RateLimit | null,
  onPause: (paused: { accountId: string; calls: number; pausedUntil: Date }) => void,
): UnchargedCalls {
  if (limit === null) return { count: async () => 0 };
  const counter = createCounter(store, { name: 'uncharged', max: FREE_ENDS, seconds: DAY_SECONDS });

  async function pauseIfAbove(
    accountId: string,
    calls: number,
    ended: number,
    msLeft: number,
  ): Promise<void> {
    const checks = (count: number) => Math.ceil(count / CHECK_EVERY);
    if (calls <= FREE_ENDS || checks(calls) === checks(calls - ended)) return;
    const today = await usageOf(store, accountId, 1);
    const charged = today.flatMap(({ tools }) => tools).reduce((sum, { succeeded }) => sum + succeeded, 0);
    if (calls <= FREE_ENDS + charged) return;
    const pausedUntil = new Date(Date.now() + msLeft);
    await store.accounts.updateOne({ _id: accountId }, { $set: { pausedUntil } });
    onPause({ accountId, calls, pausedUntil });
  }

  return {
    async count(accountId, ended = 1) {
      const { consumedPoints, msBeforeNext } = await counter.penalty(accountId, ended);
      await pauseIfAbove(accountId, consumedPoints, ended, msBeforeNext);
      return consumedPoints;
    },
  };
}
