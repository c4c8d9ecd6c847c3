import { BATCH_STATES } from '../../schemas/batches.ts';
import type { JobDoc } from '../jobs/jobDocs.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import type { BatchDoc } from './batchDocs.ts';
import { countEnded } from './countEnded.ts';

/** The batches and jobs that have not ended, of an account or of all (null), for operators. */
export interface OpenWork {
  /** Batches that have not ended, newest first. @throws ServiceError invalid_input at /cursor */
  batches(page: PageRequest, account: string | null): Promise<Page<BatchDoc>>;
  /** Jobs that run, then those that wait, oldest first; without the rows of batches. @param most maximum number of each */
  jobs(most: number, account: string | null): Promise<JobDoc[]>;
  /** Returns the account of a batch or of a job; null if there is none. */
  accountOf(kind: 'batches' | 'jobs', id: string): Promise<string | null>;
}

export function createOpenWork(store: Store): OpenWork {
  const { batches, jobs } = store;
  const single = { batchId: { $exists: false } } as const;
  const of = (accountId: string | null) => (accountId === null ? {} : { accountId });
  const read = (page: PageRequest, account: string | null) =>
    pageByTime(
      'open-batches',
      (condition) =>
        batches.find({
          ...of(account),
          endedAt: { $type: 'null' },
          state: { $in: [...BATCH_STATES] },
          ...condition,
        }),
      'createdAt',
      page,
    );
  return {
    async batches(page, account) {
      for (const { _id } of (await read(page, account)).items) await countEnded(store, _id);
      return read(page, account);
    },

    async jobs(most, account) {
      const [running, queued] = await Promise.all([
        jobs
          .find({ ...of(account), state: 'running', startedAt: { $type: 'date' }, ...single })
          .sort({ startedAt: 1 })
          .limit(most)
          .toArray(),
        jobs
          .find({ ...of(account), state: 'queued', ...single })
          .sort({ createdAt: 1 })
          .limit(most)
          .toArray(),
      ]);
      return [...running, ...queued];
    },

    async accountOf(kind, id) {
      const projection = { accountId: 1 };
      const found = await (kind === 'batches'
        ? batches.findOne({ _id: id, state: { $in: [...BATCH_STATES] } }, { projection })
        : jobs.findOne({ _id: id, ...single }, { projection }));
      return found?.accountId ?? null;
    },
  };
}
