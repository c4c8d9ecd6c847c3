import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { RowOrder } from '../../schemas/batches.ts';
import { createResults, mongodbPieces, ResultGone } from '../calls/results.ts';
import type { JobDoc } from '../jobs/jobDocs.ts';
import { OPEN_JOBS } from '../jobs/jobs.ts';
import type { Store } from '../mongo/mongo.ts';
import { retryStore } from '../mongo/retryStore.ts';

/** A row that has ended, and what it has stored: its output or its error; null if that has expired, or there is none. */
export interface EndedRow {
  row: JobDoc;
  /** Whether that is small: it was part of a workflow, and has at most 64 KB. */
  isSmall: boolean;
  /** Reads what it has stored. */
  read(): Promise<Buffer | null>;
}

/** The rows of batches that have ended. */
export interface RowOutputs {
  /**
   * Yields the rows of a batch that have ended. In the order of the input up to the first one that has not ended; in the order of
   * their ends, those that are counted. Holds a page of small results at a time.
   *
   * @param after number of the row, or its `seq`, after which to begin
   */
  rows(batchId: string, order: RowOrder, after: number): AsyncGenerator<EndedRow>;
}

/** Number of rows that are read at once. Results that were part of a workflow have at most 64 KB. */
const PAGE = 100;

/** Whether a result was part of a workflow, and so is small: its id derives from that of the row. */
const isSmall = ({ _id, result }: JobDoc): boolean => result?.id.startsWith(`${_id}:`) ?? false;

export function createRowOutputs(store: Pick<Store, 'jobs' | 'results'>, keyring: Keyring): RowOutputs {
  const { jobs, results } = store;
  const large = createResults(mongodbPieces(store), keyring);

  /** Reads the small results of rows in one query. */
  async function smallResults(rows: readonly JobDoc[]) {
    const ids = rows.filter(isSmall).map(({ result }) => `${result?.id}:0`);
    const found = await retryStore(() =>
      results.find({ _id: { $in: ids } }, { promoteBuffers: true }).toArray(),
    );
    const pieces = new Map(found.map(({ _id, data }) => [_id, data]));
    return createResults({ get: async (id) => pieces.get(id) ?? null, put: async () => undefined }, keyring);
  }

  async function nextPage(batchId: string, order: RowOrder, after: number): Promise<JobDoc[]> {
    const field = order === 'input' ? 'row' : 'seq';
    const page = await retryStore(() =>
      jobs
        .find({ batchId, [field]: { $gt: after } })
        .sort({ [field]: 1 })
        .limit(PAGE)
        .toArray(),
    );
    const open = page.findIndex(({ state }) => OPEN_JOBS.includes(state));
    return open < 0 ? page : page.slice(0, open);
  }

  return {
    async *rows(batchId, order, after) {
      let last = after;
      for (;;) {
        const page = await nextPage(batchId, order, last);
        const small = await smallResults(page);
        for (const row of page) {
          const { _id, result } = row;
          last = (order === 'input' ? row.row : row.seq) ?? last;
          const read = async () => {
            if (result === null) return null;
            try {
              return await (isSmall(row)
                ? small.read(_id, result)
                : retryStore(() => large.read(_id, result)));
            } catch (error) {
              if (!(error instanceof ResultGone)) throw error;
              return null;
            }
          };
          yield { row, isSmall: isSmall(row), read };
        }
        if (page.length < PAGE) return;
      }
    },
  };
}
