import type { RateLimit } from '../../schemas/envValues.ts';
import { JOB_KEPT_HOURS } from '../../schemas/jobs.ts';
import type { ResultReference } from '../calls/results.ts';
import type { Store } from '../mongo/mongo.ts';
import { createStorageLimit, type StorageLimit } from '../mongo/storageLimit.ts';

/** Maximum size in KB of the inputs and results of jobs, of one account and of all, within `JOB_KEPT_HOURS`. */
export const JOBS_KB = { account: 1024 * 1024, installation: 50 * 1024 * 1024 } as const;

/** Counts the inputs and results that jobs store. */
export type JobStorage = StorageLimit;

/** Creates the limit, which all processes share. @param limit null disables it */
export const createJobStorage = (store: Store, limit: RateLimit | null): JobStorage =>
  createStorageLimit(store, limit, { name: 'kept-jobs', kb: JOBS_KB, hours: JOB_KEPT_HOURS });

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
