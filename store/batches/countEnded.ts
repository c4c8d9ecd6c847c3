import type { Document } from 'mongodb';
import { deleteStored } from '../calls/results.ts';
import type { Store } from '../mongo/mongo.ts';
import type { BatchDoc } from './batchDocs.ts';

/** Maximum number of rows that one transaction counts or cancels. */
const CHUNK = 1000;

/** The stages that number a row that has ended after all rows that were counted before. */
const numbered = (base: number): Document[] => [
  { $set: { seq: { $add: [base, '$row'] } } },
  { $unset: 'uncounted' },
];

/** Takes the next numbers of a batch, as many as it has rows, so that each row has its own. */
const NEXT_NUMBERS = { seq: { $add: ['$seq', '$rows'] }, revision: { $add: ['$revision', 1] } };

/**
 * Adds rows that have ended to the sums of their batch, once each. A row ends in an update of its own document, so that rows which
 * end at the same time do not wait for each other; the sums follow here, for many rows in one transaction. Readers of a batch
 * count first.
 *
 * @returns whether all rows that had ended are counted
 */
export async function countEnded(
  { batches, jobs, transaction }: Store,
  batchId: string,
  until = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const uncounted = { batchId, uncounted: true } as const;
  const countChunk = () =>
    transaction(async (session) => {
      const rows = await jobs
        .find(uncounted, { session, projection: { state: 1, charged: 1 } })
        .limit(CHUNK)
        .toArray();
      if (rows.length === 0) return false;
      const before = await batches.findOne({ _id: batchId }, { session, projection: { seq: 1 } });
      if (before === null) return false;
      const ids = rows.map(({ _id }) => _id);
      await jobs.updateMany({ _id: { $in: ids }, ...uncounted }, numbered(before.seq), { session });
      const inState = (state: string) => rows.filter((row) => row.state === state).length;
      const sums = {
        charged: { $add: ['$charged', inState('succeeded')] },
        refused: { $add: ['$refused', inState('failed')] },
        cancelled: { $add: ['$cancelled', inState('cancelled')] },
        credits: { $add: ['$credits', rows.reduce((sum, { charged }) => sum + charged, 0)] },
      };
      await batches.updateOne({ _id: batchId }, [{ $set: { ...sums, ...NEXT_NUMBERS } }], { session });
      return rows.length === CHUNK;
    });
  // Most readers find nothing to count, which takes no transaction.
  if ((await jobs.findOne(uncounted, { projection: { _id: 1 } })) === null) return true;
  while (await countChunk()) if (Date.now() > until) return false;
  return true;
}

/**
 * Cancels and counts the rows of a batch that wait. Can be repeated.
 *
 * @returns whether none waits any more
 */
export async function cancelWaiting(
  store: Store,
  { _id: batchId, accountId }: Pick<BatchDoc, '_id' | 'accountId'>,
  until: number,
): Promise<boolean> {
  const { batches, jobs, transaction } = store;
  const waiting = { accountId, batchId, state: 'queued' } as const;
  const cancelChunk = () =>
    transaction(async (session) => {
      const rows = await jobs
        .find(waiting, { session, projection: { input: 1 } })
        .limit(CHUNK)
        .toArray();
      const before = await batches.findOne({ _id: batchId }, { session, projection: { seq: 1 } });
      if (rows.length === 0 || before === null) return [];
      const ended = { state: 'cancelled', code: 'cancelled', endedAt: '$$NOW' };
      const { modifiedCount } = await jobs.updateMany(
        { _id: { $in: rows.map(({ _id }) => _id) }, ...waiting },
        [{ $set: ended }, ...numbered(before.seq), { $unset: 'sealedInput' }],
        { session },
      );
      const sums = { cancelled: { $add: ['$cancelled', modifiedCount] } };
      await batches.updateOne({ _id: batchId }, [{ $set: { ...sums, ...NEXT_NUMBERS } }], { session });
      return rows;
    });
  for (;;) {
    const rows = await cancelChunk();
    // Large inputs are stored apart; what a crash leaves of them expires.
    for (const { input } of rows) if (input !== null) await deleteStored(store, input);
    if (rows.length < CHUNK) return true;
    if (Date.now() > until) return false;
  }
}
