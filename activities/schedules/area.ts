import { log } from '@temporalio/activity';
import { createScheduleClock } from '../../platform/temporal/scheduleClock.ts';
import { createBatches } from '../../store/batches/batches.ts';
import { createBatchRows } from '../../store/batches/batchRows.ts';
import { countEnded } from '../../store/batches/countEnded.ts';
import { createRowInputs } from '../../store/batches/rowInputs.ts';
import { createRowOutputs } from '../../store/batches/rowOutputs.ts';
import { createScheduleRuns } from '../../store/schedules/scheduleRuns.ts';
import { createSchedules } from '../../store/schedules/schedules.ts';
import { startCallback } from '../callJobs/startCallback.ts';
import { createFinishRun } from './finishRun.ts';
import { createRunTargets, type TargetServices } from './runTargets.ts';
import { createScheduleSteps, type ScheduleSteps } from './scheduleSteps.ts';
import { wakeSchedule } from './wakeSchedule.ts';

/** Creates the steps of schedules. */
export function createScheduleArea(
  services: Omit<TargetServices, 'batches' | 'rows' | 'inputs'>,
): ScheduleSteps {
  const { store, registry, results, storage, keyring, client } = services;
  const start = (id: string, accountId: string) => startCallback(client, id, accountId);
  const runs = createScheduleRuns(store);
  const targets = createRunTargets({
    ...services,
    batches: createBatches(store, (id, accountId) => {
      start(id, accountId).catch((error) =>
        log.warn('the delivery of a callback was not started; the sweeper will start it', { error }),
      );
    }),
    rows: createBatchRows(store),
    inputs: createRowInputs(store, results, keyring),
  });
  const outputs = createRowOutputs(store, keyring);
  return createScheduleSteps({
    store,
    schedules: createSchedules(store),
    runs,
    targets,
    clock: createScheduleClock(client),
    finishRun: createFinishRun({ store, registry, runs, results, outputs, storage, keyring }),
    count: (batchId) => countEnded(store, batchId),
    startCallback: start,
    wake: (scheduleId, accountId) => wakeSchedule(client, scheduleId, accountId),
  });
}
