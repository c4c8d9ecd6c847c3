import { log } from '@temporalio/activity';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { type Batches, createBatches } from '../../store/batches/batches.ts';
import { createBatchRows } from '../../store/batches/batchRows.ts';
import { cancelWaiting, countEnded } from '../../store/batches/countEnded.ts';
import { createRowInputs, type RowInputs } from '../../store/batches/rowInputs.ts';
import type { Results } from '../../store/calls/results.ts';
import type { Jobs } from '../../store/jobs/jobs.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { createNextRows, type NextRows } from './nextRows.ts';
import { createRowSteps, type RowSteps } from './rowSteps.ts';
import { createBatchSweep, type SweptBatches } from './sweepBatches.ts';

/** Steps of batches, which the queue of an account's jobs, the jobs and the sweeper run. */
export interface BatchSteps {
  rowSteps: RowSteps;
  nextRows: NextRows;
  inputs: Pick<RowInputs, 'open'>;
  /** Completes what a crash left unfinished; see `createBatchSweep`. */
  sweep(onStep: () => void): Promise<SweptBatches>;
}

/**
 * @param startCallback starts the delivery of a callback; the sweeper starts it if that fails
 * @param wakeSchedule has the runs of a schedule checked; the sweeper checks them if that fails
 */
export function createBatchSteps(
  store: Store,
  jobs: Jobs,
  results: Results,
  keyring: Keyring,
  startCallback: (id: string, accountId: string) => Promise<void>,
  wakeSchedule: (scheduleId: string, accountId: string) => Promise<void>,
): BatchSteps {
  const batches = createBatches(store, (id, accountId) => {
    startCallback(id, accountId).catch((error) =>
      log.warn('the delivery of a callback was not started; the sweeper will start it', { error }),
    );
  });
  async function end(batch: Parameters<Batches['end']>[0]): Promise<void> {
    await batches.end(batch);
    if (batch.scheduleId === undefined) return;
    await wakeSchedule(batch.scheduleId, batch.accountId).catch((error) =>
      log.warn('a schedule was not told of the end of its batch; the sweeper will', { error }),
    );
  }
  const rows = createBatchRows(store);
  const inputs = createRowInputs(store, results, keyring);
  return {
    rowSteps: createRowSteps({ store, jobs, batches, rows, inputs }),
    nextRows: createNextRows({
      batches: { ...batches, end },
      rows,
      count: (batchId, until) => countEnded(store, batchId, until),
      cancelWaiting: (batch, until) => cancelWaiting(store, batch, until),
    }),
    inputs,
    sweep: createBatchSweep({ store, batches, rows }),
  };
}
