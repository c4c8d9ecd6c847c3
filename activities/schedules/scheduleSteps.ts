import { log } from '@temporalio/activity';
import type { ScheduleClock } from '../../platform/temporal/scheduleClock.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import { isLive } from '../../store/keys/apiKeys.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { ScheduleDoc, ScheduleRunDoc } from '../../store/schedules/scheduleDocs.ts';
import { type RunEnd, runIdAt, type ScheduleRuns } from '../../store/schedules/scheduleRuns.ts';
import type { Schedules } from '../../store/schedules/schedules.ts';
import { type Clock, syncClock } from '../../store/schedules/syncClock.ts';
import type { ComparedResult, Comparison, ScheduleActivities } from '../../workflows/types.ts';
import type { FinishRun } from './finishRun.ts';
import type { RunTargets } from './runTargets.ts';

interface Dependencies {
  store: Pick<Store, 'jobs' | 'batches' | 'accounts' | 'apiKeys'>;
  schedules: Schedules;
  runs: ScheduleRuns;
  targets: RunTargets;
  clock: Clock & Pick<ScheduleClock, 'times'>;
  finishRun: FinishRun;
  /** Counts the rows of a batch that have ended; see `countEnded`. */
  count(batchId: string): Promise<unknown>;
  startCallback(id: string, accountId: string): Promise<void>;
  /** Starts the workflow that starts the next runs of a schedule; see `wakeSchedule`. */
  wake(scheduleId: string, accountId: string): Promise<void>;
}

/** The steps of schedules in the orchestrator. */
export interface ScheduleSteps {
  activities: ScheduleActivities;
  /** Ends the run of a job that has ended, and has the next one started; no-op for jobs of no run. */
  jobEnded(job: JobDoc): Promise<void>;
  /** Completes what a crash left unfinished. @param onStep called between steps */
  sweep(onStep: () => void): Promise<void>;
}

/** A run that has not ended: its job and batch, if they exist, and the comparison that it waits for. */
interface OpenRun {
  job: JobDoc | null;
  batch: BatchDoc | null;
  comparison: Comparison | null;
}

/** Age from which an open run or a clock that differs is swept; longer than any of the steps takes. */
const LEFTOVER_AFTER_MS = 15_000;
/** Age up to which a run without its job or batch gets one: well below the time for which a job is kept. */
const CREATED_WITHIN_MS = 24 * 3_600_000;

const endOfJob = ({ state, code, charged }: JobDoc): RunEnd => ({
  state: state === 'succeeded' || state === 'cancelled' ? state : 'failed',
  code,
  charged,
});

/** A batch succeeds if it was not cancelled, whatever its rows did. */
const endOfBatch = ({ state, credits }: BatchDoc): RunEnd =>
  state === 'completed'
    ? { state: 'succeeded', code: null, charged: credits }
    : { state: 'cancelled', code: 'cancelled', charged: credits };

export function createScheduleSteps(deps: Dependencies): ScheduleSteps {
  const { store, schedules, runs, targets, clock, finishRun } = deps;

  /** Why the calls of a schedule may not run any more; null if they may. */
  async function pauseReasonOf({ accountId, keyId, tools }: ScheduleDoc) {
    const account = await store.accounts.findOne(
      { _id: accountId },
      { projection: { suspension: 1, shortfall: 1 } },
    );
    if (account === null || account.suspension !== undefined || account.shortfall > 0)
      return 'account_suspended';
    if (keyId === null) return null;
    const key = await store.apiKeys.findOne({ _id: keyId });
    if (key === null || !isLive(key, new Date())) return 'key_revoked';
    return key.tools !== null && !tools.every((tool) => key.tools?.includes(tool)) ? 'key_revoked' : null;
  }

  async function end(
    run: ScheduleRunDoc,
    how: RunEnd,
    job?: JobDoc,
    compared: ComparedResult | null = null,
  ): Promise<void> {
    const callback = await finishRun.finish(run, how, job && { job, compared });
    if (callback === null) return;
    await deps
      .startCallback(callback, run.accountId)
      .catch((error) =>
        log.warn('the delivery of a callback was not started; the sweeper will start it', { error }),
      );
  }

  /** Gives a run its job or batch, or ends it. @returns whether the schedule can go on with its next runs */
  async function create(schedule: ScheduleDoc, run: ScheduleRunDoc): Promise<boolean> {
    const failure = await targets.create(schedule, run);
    if (failure === null) return true;
    // Others are open; a later sweep tries again.
    if (failure === 'limit_reached' && run.origin === 'backfill') {
      await runs.putBack(run._id);
      return false;
    }
    await end(run, { state: 'failed', code: failure, charged: 0 });
    return true;
  }

  /** Ends a run whose job or batch has ended. @returns what keeps it open; null if it has ended */
  async function endIfDone(run: ScheduleRunDoc): Promise<OpenRun | null> {
    const { jobId, batchId } = run;
    const job = jobId === null ? null : await store.jobs.findOne({ _id: jobId });
    if (batchId !== null) await deps.count(batchId);
    const batch = batchId === null ? null : await store.batches.findOne({ _id: batchId });
    if (job !== null && job.endedAt !== null) {
      const comparison = await finishRun.comparisonOf(run, job);
      if (comparison !== null) return { job, batch, comparison };
      await end(run, endOfJob(job), job);
    } else if (batch !== null && batch.endedAt !== null) await end(run, endOfBatch(batch));
    else return { job, batch, comparison: null };
    return null;
  }

  /** Moves the runs of a schedule on, as far as that is possible. @returns the results that are to be compared first */
  async function advance(scheduleId: string): Promise<Comparison[]> {
    for (;;) {
      const { started, running } = await runs.next(scheduleId);
      const schedule = await schedules.read(scheduleId);
      if (schedule === null || schedule.deletedAt !== undefined) return [];
      let hasEnded = false;
      const comparisons: Comparison[] = [];
      for (const run of running) {
        // Of backfilled runs, of which many run at the same time, each end is reported; see `jobEnded`.
        if (run.origin === 'backfill' && run.jobId !== null) continue;
        // One that has not begun ends with that.
        if (run.isCancelling) await targets.cancel(run);
        const open = await endIfDone(run);
        if (open === null) hasEnded = true;
        else if (open.comparison !== null) comparisons.push(open.comparison);
      }
      const created: boolean[] = [];
      for (const run of started) created.push(await create(schedule, run));
      const isMoved = started.length > 0 || hasEnded;
      if (comparisons.length > 0 || created.includes(false) || !isMoved) return comparisons;
    }
  }

  /** Returns a schedule whose clock has fired, and corrects the clock if it is outdated; null if the schedule has no such time any more. */
  async function scheduleAt(id: string, time: Date, version: number): Promise<ScheduleDoc | null> {
    const known = await schedules.read(id);
    if (known !== null && known.deletedAt === undefined && known.version === version) return known;
    await syncClock(schedules, clock, id);
    const schedule = await schedules.read(id);
    if (schedule === null || schedule.deletedAt !== undefined) return null;
    return (await clock.times(id, time, time, 1)).length > 0 ? schedule : null;
  }

  /** Does `advance` where no worker can be asked, and leaves the rest to the workflow of the schedule. */
  async function advanceHere(scheduleId: string): Promise<void> {
    const [comparison] = await advance(scheduleId);
    if (comparison !== undefined) await deps.wake(scheduleId, comparison.accountId);
  }

  /** Ends a run whose job or batch has ended, and creates it if that was interrupted. */
  async function check(run: ScheduleRunDoc): Promise<void> {
    const { scheduleId, startedAt } = run;
    const open = await endIfDone(run);
    if (open?.comparison != null) return deps.wake(scheduleId, run.accountId);
    if (open !== null) {
      const isCreated = open.job !== null || (open.batch !== null && open.batch.state !== 'creating');
      if (isCreated) return run.isCancelling ? targets.cancel(run) : undefined;
      const schedule = await schedules.read(scheduleId);
      if (schedule === null || schedule.deletedAt !== undefined) return;
      const isYoung = (startedAt?.getTime() ?? 0) > Date.now() - CREATED_WITHIN_MS;
      if (run.isCancelling) await end(run, { state: 'cancelled', code: 'cancelled', charged: 0 });
      else if (isYoung) await create(schedule, run);
      else await end(run, { state: 'failed', code: 'internal', charged: 0 });
    }
    await advanceHere(scheduleId);
  }

  return {
    activities: {
      async addScheduledRun(scheduleId, dueAt, version) {
        const time = new Date(dueAt);
        const schedule = await scheduleAt(scheduleId, time, version);
        if (schedule === null || schedule.paused) return;
        const reason = await pauseReasonOf(schedule);
        if (reason !== null) {
          await schedules.pause(scheduleId, reason);
          return syncClock(schedules, clock, scheduleId);
        }
        await runs.add(schedule, [{ id: runIdAt(scheduleId, time), origin: 'clock', dueAt: time }]);
        await advanceHere(scheduleId);
      },
      startScheduledRuns: advance,
      async endComparedRun({ runId, callId }, compared) {
        const run = await runs.find(runId);
        if (run === null || run.state !== 'running') return;
        const job = await store.jobs.findOne({ _id: callId });
        if (job !== null) await end(run, endOfJob(job), job, compared);
        else await end(run, { state: 'failed', code: 'internal', charged: 0 });
      },
    },

    async jobEnded(job) {
      if (job.scheduleRun === undefined) return;
      const run = await runs.find(job.scheduleRun);
      if (run === null || run.state !== 'running') return;
      const isCompared = (await finishRun.comparisonOf(run, job)) !== null;
      if (!isCompared) await end(run, endOfJob(job), job);
      // In a workflow of the schedule, so that jobs which end at the same time do not compete in its transactions.
      if (isCompared || (await runs.hasWaiting(run.scheduleId)))
        await deps.wake(run.scheduleId, run.accountId);
    },

    async sweep(onStep) {
      const before = new Date(Date.now() - LEFTOVER_AFTER_MS);
      const attempt = async (step: () => Promise<void>, scheduleId: string) => {
        onStep();
        // One that fails must not keep the others waiting.
        await step().catch((error) => log.warn('could not sweep a schedule', { scheduleId, error }));
      };
      for (const id of await schedules.unsynced(before))
        await attempt(() => syncClock(schedules, clock, id), id);
      for (const run of await runs.takeUnchecked(before)) await attempt(() => check(run), run.scheduleId);
      for (const id of await runs.waitingSince(before)) await attempt(() => advanceHere(id), id);
    },
  };
}
