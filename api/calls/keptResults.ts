import type { Logger } from 'pino';
import type { RateLimit } from '../../schemas/envValues.ts';
import { expireStored, type ResultReference } from '../../store/calls/results.ts';
import { createCounter } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';

const KB = 1024;
/** Maximum size in KB of the results that are kept for replays, of one account and of all, in the time of a key. */
export const KEPT_KB = { account: 1024 * 1024, installation: 50 * 1024 * 1024 } as const;
/** How long a result is kept for its Idempotency-Key: 24 h, and one hour for replays that have begun. */
const WINDOW_SECONDS = 25 * 3600;
/** How long a result above the limit is kept, so that a caller whose connection broke can fetch it. */
const SHORT_MS = 15 * 60_000;
const INSTALLATION = 'all';

/** Bounds the stored results that wait for a replay with their Idempotency-Key. */
export interface KeptResults {
  /**
   * Counts a stored result that has just been read for the first time. Above the limits it expires after 15 minutes; a
   * later replay fails with `idempotency_key_used`. Faults are logged.
   *
   * @param bytes size of the result
   */
  count(accountId: string, result: ResultReference, bytes: number): Promise<void>;
}

/** @param limit null disables the limits */
export function createKeptResults(
  store: Store,
  limit: RateLimit | null,
  log: Pick<Logger, 'warn'>,
): KeptResults {
  if (limit === null) return { count: async () => undefined };
  const counter = (name: string, max: number) => createCounter(store, { name, max, seconds: WINDOW_SECONDS });
  const byAccount = counter('kept-results', KEPT_KB.account);
  const byInstallation = counter('kept-results-of', KEPT_KB.installation);

  async function count(accountId: string, result: ResultReference, bytes: number): Promise<void> {
    const size = Math.ceil(bytes / KB);
    const [own, all] = await Promise.all([
      byAccount.penalty(accountId, size),
      byInstallation.penalty(INSTALLATION, size),
    ]);
    if (own.consumedPoints > KEPT_KB.account || all.consumedPoints > KEPT_KB.installation)
      await expireStored(store, result, new Date(Date.now() + SHORT_MS));
  }

  return {
    count: (accountId, result, bytes) =>
      count(accountId, result, bytes).catch((error) =>
        log.warn({ err: error, accountId }, 'could not count a stored result'),
      ),
  };
}
