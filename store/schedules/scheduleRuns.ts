import { createHash, randomUUID } from 'node:crypto';
import type { ClientSession } from 'mongodb';
import { ServiceError } from '../../schemas/errors.ts';
import {
  MAX_BACKFILL,
  MAX_WAITING_RUNS,
  type Overlap,
  RUN_KEPT_DAYS,
  type RunOrigin,
} from '../../schemas/schedules.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import type { ScheduleDoc, ScheduleRunDoc, ShownSchedule } from './scheduleDocs.ts';

/** A run that is to be added. */
export interface NewRun {
  id: string;
  origin: RunOrigin;
  dueAt: Date;
}

/** How the job or the batch of a run ended. */
export type RunEnd = Pick<ScheduleRunDoc, 'state' | 'code' | 'charged'>;

/** The runs that a step has moved. */
interface Moved {
  /** They are to get their job or batch. */
  started: ScheduleRunDoc[];
  /** They were started before, and may lack their job or batch after a crash. */
  running: ScheduleRunDoc[];
}

/**
 * The runs of schedules. Which runs are skipped, wait and start is decided in transactions that write the schedule, so that one of
 * them decides at a time.
 */
export interface ScheduleRuns {
  /**
   * Adds the runs that do not exist yet, and applies the overlap policy to them; backfilled runs wait. Of a schedule that is paused,
   * those of the clock are not added. Can be repeated.
   *
   * @returns the new runs; null if the schedule was deleted
   * @throws ServiceError limit_reached if too many backfilled runs wait
   */
  add(
    schedule: Pick<ScheduleDoc, '_id' | 'accountId'>,
    runs: readonly NewRun[],
  ): Promise<ScheduleRunDoc[] | null>;
  /** Starts the runs whose turn it is, and returns what the caller must do for them. The clock's runs of a paused schedule wait. */
  next(scheduleId: string): Promise<Moved>;
  /** Whether runs of a schedule wait. */
  hasWaiting(scheduleId: string): Promise<boolean>;
  find(id: string): Promise<ScheduleRunDoc | null>;
  list(scheduleId: string, page: PageRequest): Promise<Page<ScheduleRunDoc>>;
  /** Ends a run, once. @param session of a transaction @returns the run; null if it has ended before */
  end(
    id: string,
    end: RunEnd & Partial<Pick<ScheduleRunDoc, 'changed' | 'sealedDifference'>>,
    session?: ClientSession,
  ): Promise<ScheduleRunDoc | null>;
  /** Lets a run that could not get its job or batch wait again. */
  putBack(id: string): Promise<void>;
  /** Returns runs that have been running for a while, and notes that they are checked. */
  takeUnchecked(before: Date): Promise<ScheduleRunDoc[]>;
  /** Returns the ids of schedules whose runs have waited for a while; of many, other ones each time. */
  waitingSince(before: Date): Promise<string[]>;
}

const DAY_MS = 86_400_000;
/** Number of backfilled runs that run at the same time, by what a run creates. */
const BACKFILLED_AT_ONCE = { job: 8, batch: 1 } as const;
/** Number of runs that one sweep checks, and of schedules with runs that wait. */
const CHECKED = 500;

const idOf = (text: string): string => `run_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;

/** Id of the run of a schedule for a time. */
export const runIdAt = (scheduleId: string, dueAt: Date): string =>
  idOf(`${scheduleId} at ${dueAt.toISOString()}`);

/** Id of a triggered run. @param key its Idempotency-Key; null: the run is a new one */
export const triggeredRunId = (scheduleId: string, key: string | null): string =>
  idOf(key === null ? `${scheduleId} once ${randomUUID()}` : `${scheduleId} key ${key}`);

/** How a new run begins, given the runs of the clock and of triggers that are open. */
function beginning(
  overlap: Overlap,
  open: readonly ScheduleRunDoc[],
): Pick<ScheduleRunDoc, 'state' | 'code'> {
  if (overlap === 'skip' && open.length > 0) return { state: 'skipped', code: 'overlap' };
  if (open.length >= MAX_WAITING_RUNS) return { state: 'skipped', code: 'limit_reached' };
  return { state: 'waiting', code: null };
}

export function createScheduleRuns({
  schedules,
  scheduleRuns,
  transaction,
}: Pick<Store, 'schedules' | 'scheduleRuns' | 'transaction'>): ScheduleRuns {
  const lock = (scheduleId: string, session: ClientSession): Promise<ShownSchedule | null> =>
    schedules.findOneAndUpdate(
      { _id: scheduleId, deletedAt: { $exists: false } },
      { $inc: { turn: 1 } },
      { session, returnDocument: 'after', projection: { sealedInputs: 0, last: 0 } },
    );

  /** Selects open runs of a schedule: those of backfills, or the others. */
  const openRuns = (scheduleId: string, isBackfill: boolean) =>
    ({
      scheduleId,
      isOpen: true,
      origin: isBackfill ? 'backfill' : { $in: ['clock', 'trigger'] satisfies RunOrigin[] },
    }) as const;

  /** Cancels the open runs that a new one replaces. */
  async function replace(open: readonly ScheduleRunDoc[], session: ClientSession): Promise<void> {
    const now = new Date();
    const idsIn = (state: 'waiting' | 'running') =>
      open.filter((run) => run.state === state).map(({ _id }) => _id);
    await scheduleRuns.updateMany(
      { _id: { $in: idsIn('waiting') } },
      { $set: { state: 'cancelled', code: 'cancelled', endedAt: now, movedAt: now }, $unset: { isOpen: '' } },
      { session },
    );
    await scheduleRuns.updateMany(
      { _id: { $in: idsIn('running') } },
      { $set: { isCancelling: true } },
      { session },
    );
  }

  async function begin(
    { _id: scheduleId, overlap }: ShownSchedule,
    { origin }: NewRun,
    session: ClientSession,
  ): Promise<Pick<ScheduleRunDoc, 'state' | 'code'>> {
    if (origin === 'backfill') return { state: 'waiting', code: null };
    const open = await scheduleRuns.find(openRuns(scheduleId, false), { session }).toArray();
    if (overlap !== 'cancel') return beginning(overlap, open);
    await replace(open, session);
    return { state: 'waiting', code: null };
  }

  async function assertRoom(scheduleId: string, added: number, session: ClientSession): Promise<void> {
    const waiting = await scheduleRuns.countDocuments(openRuns(scheduleId, true), { session });
    if (waiting + added > MAX_BACKFILL)
      throw new ServiceError('limit_reached', {
        detail: `At most ${MAX_BACKFILL} backfilled runs of a schedule wait. Repeat the request when some of them have ended.`,
      });
  }

  /** Starts up to `count` runs that wait, the earliest first. */
  async function start(
    { _id: scheduleId, kind, paused }: ShownSchedule,
    isBackfill: boolean,
    session: ClientSession,
  ): Promise<ScheduleRunDoc[]> {
    const open = openRuns(scheduleId, isBackfill);
    const running = await scheduleRuns.countDocuments({ ...open, state: 'running' }, { session });
    const room = (isBackfill ? BACKFILLED_AT_ONCE[kind] : 1) - running;
    if (room <= 0) return [];
    const waiting = await scheduleRuns
      .find({ ...open, state: 'waiting', ...(paused && !isBackfill && { origin: 'trigger' }) }, { session })
      .sort({ dueAt: 1 })
      .limit(room)
      .toArray();
    const started: ScheduleRunDoc[] = [];
    for (const { _id } of waiting) {
      const now = new Date();
      const id = kind === 'job' ? { jobId: randomUUID() } : { batchId: `batch_${randomUUID()}` };
      const run = await scheduleRuns.findOneAndUpdate(
        { _id, state: 'waiting' },
        { $set: { state: 'running', startedAt: now, movedAt: now, ...id } },
        { session, returnDocument: 'after' },
      );
      if (run !== null) started.push(run);
    }
    return started;
  }

  const hasWaiting = async (scheduleId: string): Promise<boolean> =>
    (await scheduleRuns.findOne(
      { scheduleId, isOpen: true, state: 'waiting' },
      { projection: { _id: 1 } },
    )) !== null;

  return {
    hasWaiting,

    add: ({ _id: scheduleId, accountId }, runs) =>
      transaction(async (session) => {
        const schedule = await lock(scheduleId, session);
        if (schedule === null) return null;
        const known = await scheduleRuns
          .find({ _id: { $in: runs.map(({ id }) => id) } }, { session, projection: { _id: 1 } })
          .toArray();
        const ids = new Set(known.map(({ _id }) => _id));
        const fresh = runs.filter(
          ({ id, origin }) => !ids.has(id) && !(schedule.paused && origin === 'clock'),
        );
        if (fresh.some(({ origin }) => origin === 'backfill'))
          await assertRoom(scheduleId, fresh.length, session);
        const now = new Date();
        const added: ScheduleRunDoc[] = [];
        for (const run of fresh) {
          const begun = await begin(schedule, run, session);
          const isOpen = begun.state === 'waiting';
          added.push({
            _id: run.id,
            scheduleId,
            accountId,
            origin: run.origin,
            dueAt: run.dueAt,
            ...begun,
            jobId: null,
            batchId: null,
            createdAt: now,
            startedAt: null,
            endedAt: isOpen ? null : now,
            charged: 0,
            changed: null,
            ...(isOpen && { isOpen }),
            movedAt: now,
            expiresAt: new Date(now.getTime() + RUN_KEPT_DAYS * DAY_MS),
          });
        }
        if (added.length > 0) await scheduleRuns.insertMany(added, { session });
        return added;
      }),

    async next(scheduleId) {
      const running = await scheduleRuns.find({ scheduleId, isOpen: true, state: 'running' }).toArray();
      if (!(await hasWaiting(scheduleId))) return { started: [], running };
      const started = await transaction(async (session) => {
        const schedule = await lock(scheduleId, session);
        if (schedule === null) return [];
        return [...(await start(schedule, false, session)), ...(await start(schedule, true, session))];
      });
      return { started, running };
    },

    find: (id) => scheduleRuns.findOne({ _id: id }),

    list: (scheduleId, page) =>
      pageByTime(
        'schedule-runs',
        (condition) => scheduleRuns.find({ scheduleId, ...condition }),
        'dueAt',
        page,
      ),

    end(id, end, session) {
      const now = new Date();
      return scheduleRuns.findOneAndUpdate(
        { _id: id, state: 'running' },
        { $set: { ...end, endedAt: now, movedAt: now }, $unset: { isOpen: '', isCancelling: '' } },
        { ...(session !== undefined && { session }), returnDocument: 'after' },
      );
    },

    async putBack(id) {
      await scheduleRuns.updateOne(
        { _id: id, state: 'running' },
        { $set: { state: 'waiting', startedAt: null, jobId: null, batchId: null, movedAt: new Date() } },
      );
    },

    async takeUnchecked(before) {
      const rows = await scheduleRuns
        .find({ isOpen: true, state: 'running', movedAt: { $lt: before } })
        .sort({ movedAt: 1 })
        .limit(CHECKED)
        .toArray();
      const ids = rows.map(({ _id }) => _id);
      await scheduleRuns.updateMany(
        { _id: { $in: ids }, state: 'running' },
        { $set: { movedAt: new Date() } },
      );
      return rows;
    },

    async waitingSince(before) {
      const rows = await scheduleRuns
        .aggregate<{ _id: string }>([
          { $match: { isOpen: true, state: 'waiting', movedAt: { $lt: before } } },
          { $group: { _id: '$scheduleId' } },
          { $sample: { size: CHECKED } },
        ])
        .toArray();
      return rows.map(({ _id }) => _id);
    },
  };
}
