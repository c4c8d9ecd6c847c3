import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { ScheduleRow, ScheduleRunRow } from '../../schemas/schedules.ts';
import type { ScheduleRunDoc, ShownSchedule } from './scheduleDocs.ts';
import { sealedDifference, sealedTarget } from './sealed.ts';

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;

/** The job or the batch of a schedule as its owner sees it, and the number of its calls. */
function targetOf(keyring: Keyring, { _id, sealedTarget: sealed }: ShownSchedule) {
  const target = sealedTarget.open(keyring, _id, sealed);
  if ('job' in target) return { job: target.job, batch: null, calls: 1 };
  const { tool, rows, maxCredits = null, order, onEmptyBalance, metadata = null } = target.batch;
  return {
    job: null,
    batch: { tool, rows, maxCredits, order, onEmptyBalance, metadata },
    calls: rows,
  };
}

/**
 * A schedule as its owner sees it.
 *
 * @param priceOf returns the price of a tool
 * @param nextAt when the next run is due; null if that is not known
 */
export function scheduleRow(
  keyring: Keyring,
  schedule: ShownSchedule,
  priceOf: (tool: string) => number,
  nextAt: Date | null,
): ScheduleRow {
  const { calls, ...target } = targetOf(keyring, schedule);
  const price = schedule.tools.reduce((sum, tool) => sum + priceOf(tool), 0);
  return {
    id: schedule._id,
    name: schedule.name,
    cron: schedule.cron,
    timeZone: schedule.timeZone,
    tools: schedule.tools,
    ...target,
    overlap: schedule.overlap,
    onChange: schedule.onChange,
    callbackUrl: schedule.callbackUrl,
    paused: schedule.paused,
    pauseReason: schedule.pauseReason,
    cost: price * calls,
    createdAt: schedule.createdAt.toISOString(),
    nextAt: schedule.paused ? null : iso(nextAt),
  };
}

/** The difference of a run; null if there is none, or its master key is gone. */
function differenceOf(keyring: Keyring, { _id, sealedDifference: sealed }: ScheduleRunDoc) {
  if (sealed === undefined || !keyring.has(keyring.keyIdOf(Buffer.from(sealed, 'base64')))) return null;
  return sealedDifference.open(keyring, _id, sealed);
}

/** A run as its owner sees it. */
export const runRow = (keyring: Keyring, run: ScheduleRunDoc): ScheduleRunRow => ({
  id: run._id,
  scheduleId: run.scheduleId,
  dueAt: run.dueAt.toISOString(),
  origin: run.origin,
  state: run.state,
  code: run.code,
  jobId: run.jobId,
  batchId: run.batchId,
  startedAt: iso(run.startedAt),
  endedAt: iso(run.endedAt),
  charged: run.charged,
  changed: run.changed,
  difference: differenceOf(keyring, run),
});
