import type { RateLimit } from '../../schemas/envValues.ts';
import { JOB_KEPT_HOURS } from '../../schemas/jobs.ts';
import type { ResultReference } from '../calls/results.ts';
import { createCounter, secondsLeft } from '../mongo/counters.ts';
import type { Store } from '../mongo/mongo.ts';

const KB = 1024;
/** Maximum size in KB of the inputs and results of jobs, of one account and of all, within `JOB_KEPT_HOURS`. */
export const JOBS_KB = { account: 1024 * 1024, installation: 50 * 1024 * 1024 } as const;
const INSTALLATION = 'all';

/** Counts what jobs store, so that neither an account nor all together fill the disk. */
export interface JobStorage {
  /** Returns the seconds until the account may store more; null if it may now. */
  isFull(accountId: string): Promise<number | null>;
  /** Returns what the account has stored in bytes, rounded up to KB; 0 without limits. */
  usedBytes(accountId: string): Promise<number>;
  /** Counts an input or a result of this many bytes. */
  add(accountId: string, bytes: number): Promise<void>;
}

/** Creates the limit, which all processes share. @param limit null disables it */
export function createJobStorage(store: Store, limit: RateLimit | null): JobStorage {
  if (limit === null)
    return { isFull: async () => null, usedBytes: async () => 0, add: async () => undefined };
  const seconds = JOB_KEPT_HOURS * 3600;
  const own = createCounter(store, { name: 'kept-jobs', max: JOBS_KB.account, seconds });
  const all = createCounter(store, { name: 'kept-jobs-of', max: JOBS_KB.installation, seconds });
  return {
    async isFull(accountId) {
      const [ofAccount, ofAll] = await Promise.all([own.get(accountId), all.get(INSTALLATION)]);
      const full = [
        ...(ofAccount !== null && ofAccount.consumedPoints >= JOBS_KB.account ? [ofAccount] : []),
        ...(ofAll !== null && ofAll.consumedPoints >= JOBS_KB.installation ? [ofAll] : []),
      ];
      return full.length === 0 ? null : Math.max(...full.map(secondsLeft));
    },
    usedBytes: async (accountId) => ((await own.get(accountId))?.consumedPoints ?? 0) * KB,
    async add(accountId, bytes) {
      const size = Math.ceil(bytes / KB);
      await Promise.all([own.penalty(accountId, size), all.penalty(INSTALLATION, size)]);
    },
  };
}

/** Returns the bytes of a stored input or result. */
export async function bytesOf(
  { results }: Pick<Store, 'results'>,
  reference: ResultReference,
): Promise<number> {
  const ids = Array.from({ length: reference.pieces }, (_, piece) => `${reference.id}:${piece}`);
  const [sum] = await results
    .aggregate<{ bytes: number }>([
      { $match: { _id: { $in: ids } } },
      { $group: { _id: null, bytes: { $sum: { $binarySize: '$data' } } } },
    ])
    .toArray();
  return sum?.bytes ?? 0;
}
