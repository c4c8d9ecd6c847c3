import type { JobState } from '../../schemas/jobs.ts';
import type { JobDoc } from '../jobs/jobDocs.ts';
import { OPEN_JOBS } from '../jobs/jobs.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByRow } from '../mongo/pages.ts';
import type { BatchDoc } from './batchDocs.ts';

/** The outcomes of rows, named as the numbers of a batch that count them, with the states of such rows. */
export const ROW_OUTCOMES = {
  charged: ['succeeded'],
  refused: ['failed'],
  cancelled: ['cancelled'],
  open: OPEN_JOBS,
} as const satisfies Record<string, readonly JobState[]>;
export type RowOutcome = keyof typeof ROW_OUTCOMES;

/**
 * Returns a page of the rows of a batch, in the order of the input and without their inputs.
 *
 * @param outcome null: all rows
 * @throws ServiceError invalid_input at /cursor
 */
export const pageOfRows = (
  { jobs }: Pick<Store, 'jobs'>,
  { _id: batchId, accountId }: Pick<BatchDoc, '_id' | 'accountId'>,
  outcome: RowOutcome | null,
  page: PageRequest,
): Promise<Page<JobDoc>> =>
  pageByRow(
    'rows',
    (condition) =>
      jobs.find(
        {
          accountId,
          batchId,
          ...(outcome !== null && { state: { $in: [...ROW_OUTCOMES[outcome]] } }),
          ...condition,
        },
        { projection: { sealedInput: 0 } },
      ),
    page,
  );
