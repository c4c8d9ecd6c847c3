import { ServiceError } from '../../schemas/errors.ts';
import { MAX_SCHEDULES, type SchedulePause } from '../../schemas/schedules.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import { deletePictures } from './pictures.ts';
import type { ScheduleDoc, ShownSchedule } from './scheduleDocs.ts';

/** The fields of a new schedule; `create` sets the others. */
export type NewSchedule = Omit<
  ScheduleDoc,
  'version' | 'unsyncedSince' | 'last' | 'comparedFrom' | 'turn' | 'deletedAt' | 'idempotency'
> & { idempotency: { key: string; fingerprint: string } | null };

type Changeable =
  | 'name'
  | 'cron'
  | 'timeZone'
  | 'overlap'
  | 'onChange'
  | 'callbackUrl'
  | 'paused'
  | 'pauseReason'
  | 'sealedTarget'
  | 'sealedInputs'
  | 'kind'
  | 'tools';

/** The fields that an owner can change. A new target or a new comparison begins without an earlier result. */
export type ScheduleChange = { [Field in Changeable]?: ScheduleDoc[Field] | undefined } & Pick<
  ScheduleDoc,
  'keyId' | 'keyPrefix'
>;

/** The schedules of accounts. */
export interface Schedules {
  /**
   * Inserts a schedule, or returns the earlier one with its Idempotency-Key. Can be repeated.
   *
   * @throws ServiceError limit_reached; not_found if the account is closed
   */
  create(schedule: NewSchedule): Promise<{ schedule: ScheduleDoc; created: boolean }>;
  find(accountId: string, id: string): Promise<ShownSchedule | null>;
  findByKey(accountId: string, key: string): Promise<ScheduleDoc | null>;
  /** Returns a whole schedule, also one that was deleted but still has a clock. */
  read(id: string): Promise<ScheduleDoc | null>;
  /** @param tools only schedules that call no other tools; null: all */
  list(accountId: string, tools: readonly string[] | null, page: PageRequest): Promise<Page<ShownSchedule>>;
  /** Changes a schedule, and marks its clock as different. @returns null if it was deleted */
  change(accountId: string, id: string, change: ScheduleChange): Promise<ScheduleDoc | null>;
  /** Takes a change back, unless the schedule was changed again. @param before the schedule before @param version that of the change */
  undo(before: ScheduleDoc, version: number): Promise<void>;
  /** Pauses a schedule whose calls may not run any more. */
  pause(id: string, reason: SchedulePause): Promise<void>;
  /** Marks a schedule as deleted. */
  remove(accountId: string, id: string): Promise<void>;
  /** Records that the clock is that of this version. @returns false if the schedule has been changed since */
  synced(id: string, version: number): Promise<boolean>;
  /** Deletes a schedule that was marked as deleted, with its runs and pictures. */
  forget(id: string): Promise<void>;
  /** Returns the ids of schedules whose clock has differed for a while. */
  unsynced(before: Date): Promise<string[]>;
}

/** The fields that are not undefined. */
const defined = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const LIVE = { deletedAt: { $exists: false } } as const;
const BATCH = 500;
/** Leaves out what only runs need: of 50 schedules it can be 100 MB. */
const SHOWN = { sealedInputs: 0, last: 0 } as const;

export function createSchedules({
  schedules,
  scheduleRuns,
  accounts,
  results,
  transaction,
}: Pick<Store, 'schedules' | 'scheduleRuns' | 'accounts' | 'results' | 'transaction'>): Schedules {
  const findByKey = (accountId: string, key: string): Promise<ScheduleDoc | null> =>
    schedules.findOne({ accountId, 'idempotency.key': key, ...LIVE });
  const moved = () => ({ $set: { unsyncedSince: new Date() }, $inc: { version: 1 } });

  return {
    findByKey,

    async create({ idempotency, ...newSchedule }) {
      const { _id, accountId } = newSchedule;
      const row: ScheduleDoc = {
        ...newSchedule,
        version: 1,
        unsyncedSince: new Date(),
        last: null,
        comparedFrom: newSchedule.createdAt,
        turn: 0,
        ...(idempotency !== null && { idempotency }),
      };
      try {
        const schedule = await transaction(async (session) => {
          // Forces concurrent creations to conflict, so that the count below stays exact.
          const { matchedCount } = await accounts.updateOne(
            { _id: accountId, closedAt: { $exists: false } },
            { $inc: { schedulesMade: 1 } },
            { session },
          );
          if (matchedCount === 0) throw new ServiceError('not_found');
          // The insert precedes the count, so that a repeated creation finds its schedule.
          const created = await schedules.findOneAndUpdate(
            { _id },
            { $setOnInsert: row },
            { session, upsert: true, returnDocument: 'after' },
          );
          if ((await schedules.countDocuments({ accountId, ...LIVE }, { session })) > MAX_SCHEDULES)
            throw new ServiceError('limit_reached', {
              detail: `The account has reached its limit of ${MAX_SCHEDULES} schedules. Delete one first.`,
            });
          return created;
        });
        if (schedule === null) throw new Error(`schedule ${_id} was not inserted`);
        return { schedule, created: true };
      } catch (error) {
        if (!isDuplicate(error) || idempotency === null) throw error;
        const earlier = await findByKey(accountId, idempotency.key);
        if (earlier === null) throw error;
        return { schedule: earlier, created: false };
      }
    },

    find: (accountId, id) =>
      schedules.findOne<ShownSchedule>({ _id: id, accountId, ...LIVE }, { projection: SHOWN }),

    read: (id) => schedules.findOne({ _id: id }),

    list: (accountId, tools, page) =>
      pageByTime(
        'schedules',
        (condition) =>
          schedules
            .find({
              accountId,
              ...LIVE,
              ...(tools !== null && { tools: { $not: { $elemMatch: { $nin: [...tools] } } } }),
              ...condition,
            })
            .project<ShownSchedule>(SHOWN),
        'createdAt',
        page,
      ),

    change(accountId, id, change) {
      const { $set, $inc } = moved();
      const isNew = change.sealedTarget !== undefined || change.onChange === 'off';
      return schedules.findOneAndUpdate(
        { _id: id, accountId, ...LIVE },
        {
          $set: { ...defined(change), ...$set, ...(isNew && { last: null, comparedFrom: new Date() }) },
          $inc,
        },
        { returnDocument: 'after' },
      );
    },

    async undo({ _id, turn: _turn, version: _version, ...before }, version) {
      const { $set, $inc } = moved();
      await schedules.updateOne({ _id, version, ...LIVE }, { $set: { ...before, ...$set }, $inc });
    },

    async pause(id, pauseReason) {
      const { $set, $inc } = moved();
      await schedules.updateOne(
        { _id: id, paused: false, ...LIVE },
        { $set: { ...$set, paused: true, pauseReason }, $inc },
      );
    },

    async remove(accountId, id) {
      const { $set, $inc } = moved();
      await schedules.updateOne(
        { _id: id, accountId, ...LIVE },
        { $set: { ...$set, deletedAt: new Date() }, $unset: { idempotency: '' }, $inc },
      );
    },

    synced: async (id, version) =>
      (await schedules.updateOne({ _id: id, version }, { $set: { unsyncedSince: null } })).matchedCount > 0,

    async forget(id) {
      await scheduleRuns.deleteMany({ scheduleId: id });
      await deletePictures({ results }, id);
      await schedules.deleteOne({ _id: id, deletedAt: { $exists: true } });
    },

    async unsynced(before) {
      const rows = await schedules
        .find({ unsyncedSince: { $type: 'date', $lt: before } }, { projection: { _id: 1 } })
        .limit(BATCH)
        .toArray();
      return rows.map(({ _id }) => _id);
    },
  };
}
