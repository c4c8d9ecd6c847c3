import { usageOf } from '../billing/usage.ts';
import type { Store } from '../mongo/mongo.ts';
import { UNCHARGED_SECONDS } from './callDocs.ts';

/** Time between the summing of usage and the expiry of the calls in it, so that a failed summing can be repeated. */
const SUM_BEFORE_MS = 86_400_000;
/** Period of ends of calls that one run covers: twice the interval of the runs, so that one can be missed. */
const COVERED_MS = 2 * 3_600_000;

/**
 * Sums the usage of accounts whose calls without a charge expire soon, so that the statistics of later days still include
 * them. Must run every hour.
 *
 * @returns the number of accounts
 */
export async function sumExpiring(store: Store, now = new Date()): Promise<number> {
  const from = new Date(now.getTime() - UNCHARGED_SECONDS * 1000 + SUM_BEFORE_MS - COVERED_MS);
  const accountIds = await store.calls.distinct('accountId', {
    state: { $in: ['refunded', 'refused'] },
    finishedAt: { $gte: from, $lt: new Date(from.getTime() + COVERED_MS) },
  });
  for (const accountId of accountIds) await usageOf(store, accountId, 1);
  return accountIds.length;
}
