import { randomUUID } from 'node:crypto';
import { isPauseReason } from '../../schemas/batches.ts';
import type { Batches } from '../../store/batches/batches.ts';
import type { BatchRows } from '../../store/batches/batchRows.ts';
import type { RowInputs } from '../../store/batches/rowInputs.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import type { Jobs } from '../../store/jobs/jobs.ts';
import type { Store } from '../../store/mongo/mongo.ts';

interface Dependencies {
  store: Pick<Store, 'batches'>;
  jobs: Pick<Jobs, 'end'>;
  batches: Pick<Batches, 'pause' | 'cancel'>;
  rows: Pick<BatchRows, 'replace'>;
  inputs: RowInputs;
}

/** Steps of a row that a single job does not have. All can be repeated, and change nothing for single jobs. */
export interface RowSteps {
  /** Whether a row may start. If its batch is paused, the row returns to the queue; if it is cancelled, the row ends. */
  mayStart(row: JobDoc): Promise<boolean>;
  /** Cancels the batch of a row, because none of its rows may start any more. */
  cancelBatch(row: JobDoc): Promise<void>;
  /**
   * Pauses the batch of a row that failed with an error that the next rows would get too, and returns the row to the queue. Its
   * tool has not started then. @returns false if the row must end instead
   */
  holdBack(row: JobDoc, code: string): Promise<boolean>;
}

export function createRowSteps({ store, jobs, batches, rows, inputs }: Dependencies): RowSteps {
  const find = (batchId: string) =>
    store.batches.findOne({ _id: batchId }, { projection: { state: 1, onEmptyBalance: 1 } });

  /** Puts another row in its place: the call of this one has ended, or its workflow has. */
  async function requeue(row: JobDoc): Promise<void> {
    const id = randomUUID();
    await rows.replace(row, { _id: id, ...(await inputs.move(row, id)) });
    await inputs.remove(row);
  }

  return {
    async mayStart(row) {
      const { batchId } = row;
      if (batchId === undefined) return true;
      const state = (await find(batchId))?.state;
      if (state === 'running') return true;
      if (state === 'paused') await requeue(row);
      else await jobs.end(row._id, { state: 'cancelled', code: 'cancelled', result: null, keepsKey: false });
      return false;
    },

    async cancelBatch({ batchId }) {
      if (batchId !== undefined) await batches.cancel(batchId);
    },

    async holdBack(row, code) {
      const { batchId, policy } = row;
      if (batchId === undefined || !isPauseReason(code)) return false;
      if (code === 'insufficient_credits' && (await find(batchId))?.onEmptyBalance === 'stop') {
        await batches.cancel(batchId);
        return false;
      }
      await batches.pause(batchId, code, code === 'insufficient_credits' ? policy.price : null);
      await requeue(row);
      return true;
    },
  };
}
