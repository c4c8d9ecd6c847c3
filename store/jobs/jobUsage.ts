import type { JobUsage } from '../../schemas/accountRows.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import { MAX_OPEN_JOBS } from '../../schemas/jobs.ts';
import type { Store } from '../mongo/mongo.ts';
import { createJobs } from './jobs.ts';
import { createJobStorage, JOBS_KB } from './storedBytes.ts';

/** Creates the function that returns what the jobs of an account take up. @param limit null: the installation has no limits */
export function createJobUsage(
  store: Store,
  limit: RateLimit | null,
): (accountId: string) => Promise<JobUsage> {
  const jobs = createJobs(store);
  const storage = createJobStorage(store, limit);
  return async (accountId) => {
    const [open, storedBytes] = await Promise.all([jobs.countOpen(accountId), storage.usedBytes(accountId)]);
    const maxStoredBytes = limit === null ? null : JOBS_KB.account * 1024;
    return { open, maxOpen: MAX_OPEN_JOBS, storedBytes, maxStoredBytes };
  };
}
