import {
  type CalendarSpec,
  type Client,
  type DayOfWeek,
  isGrpcServiceError,
  type Month,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import proto from '@temporalio/proto';
import { LRUCache } from 'lru-cache';
import { type Cron, parseCron } from '../../schemas/formats/cron.ts';
import { JOB_PRIORITY, TASK_QUEUES, WORKFLOWS, workflowIds } from '../../workflows/contract.ts';
import { retryUntilAborted } from './retryUntilAborted.ts';

const { Timestamp } = proto.google.protobuf;

/** What Temporal knows of a schedule. */
interface Settings {
  _id: string;
  accountId: string;
  /** A valid cron expression. */
  cron: string;
  timeZone: string;
  paused: boolean;
  version: number;
}

/** Temporal does not know the time zone of a schedule. */
export class UnknownTimeZone extends Error {
  override readonly name = 'UnknownTimeZone';
}

/** The clocks of schedules: schedules of Temporal, each of which starts `fireSchedule` at its times. */
export interface ScheduleClock {
  /** Creates or changes the clock of a schedule. @throws UnknownTimeZone */
  set(settings: Settings): Promise<void>;
  /** Deletes the clock of a schedule; no-op if there is none. */
  remove(scheduleId: string): Promise<void>;
  /** Returns the next time of a schedule; null if it has no clock, or no further time. Asks Temporal once for each time. */
  next(schedule: Pick<Settings, '_id' | 'version'>): Promise<Date | null>;
  /**
   * Returns the times of a schedule in a period, as its clock would have them: not more than `most`, and one more if there are more.
   *
   * @throws ScheduleNotFoundError if the schedule has no clock
   */
  times(scheduleId: string, from: Date, to: Date, most: number): Promise<Date[]>;
}

const TIMEOUT_MS = 5000;
/** Number of next times that a process remembers. */
const KNOWN_TIMES = 10_000;
/** Status of gRPC. */
const NOT_FOUND = 5;
/** Runs that were due while Temporal was down for at most this time are made up for. A backfill makes up for others. */
const CATCHUP_WINDOW = '1h';
/** Runs of a schedule overlap as its document says; the workflow of a clock lasts only until it has added its run. */
const POLICIES = { overlap: ScheduleOverlapPolicy.ALLOW_ALL, catchupWindow: CATCHUP_WINDOW } as const;

const MONTHS: readonly Month[] = [
  'JANUARY',
  'FEBRUARY',
  'MARCH',
  'APRIL',
  'MAY',
  'JUNE',
  'JULY',
  'AUGUST',
  'SEPTEMBER',
  'OCTOBER',
  'NOVEMBER',
  'DECEMBER',
];
const WEEKDAYS: readonly DayOfWeek[] = [
  'SUNDAY',
  'MONDAY',
  'TUESDAY',
  'WEDNESDAY',
  'THURSDAY',
  'FRIDAY',
  'SATURDAY',
];

/**
 * Converts a cron expression to calendars of Temporal. A calendar matches a time only if all of its fields do, so that an expression
 * of which either field of days may match becomes two. Temporal's own cron expressions have no such days.
 */
function calendarsOf({ minutes, hours, days, months, weekdays, eitherDay }: Cron): CalendarSpec[] {
  const times = { minute: minutes, hour: hours, month: months.flatMap((month) => MONTHS[month - 1] ?? []) };
  const dayOfWeek = weekdays.flatMap((weekday) => WEEKDAYS[weekday] ?? []);
  if (!eitherDay) return [{ ...times, dayOfMonth: days, dayOfWeek }];
  return [
    { ...times, dayOfMonth: days, dayOfWeek: '*' },
    { ...times, dayOfMonth: '*', dayOfWeek },
  ];
}

function optionsOf({ _id, accountId, cron: text, timeZone, paused, version }: Settings) {
  const cron = parseCron(text);
  if (typeof cron === 'string') throw new Error(`the cron expression of schedule ${_id} ${cron}`);
  return {
    spec: { calendars: calendarsOf(cron), timezone: timeZone },
    policies: POLICIES,
    action: {
      type: 'startWorkflow' as const,
      workflowType: WORKFLOWS.fireSchedule,
      taskQueue: TASK_QUEUES.orchestrator,
      workflowId: workflowIds.scheduleFiring(_id, version),
      // Schedules of an account that are due in the same minute wait for calls, and share what is left with those of others.
      priority: { priorityKey: JOB_PRIORITY, fairnessKey: accountId },
    },
    state: { paused },
  };
}

const toTimestamp = (date: Date) =>
  Timestamp.fromObject({ seconds: Math.floor(date.getTime() / 1000), nanos: (date.getTime() % 1000) * 1e6 });

export function createScheduleClock(client: Client): ScheduleClock {
  const send = <T>(request: () => Promise<T>): Promise<T> =>
    retryUntilAborted(client, request, AbortSignal.timeout(TIMEOUT_MS));
  const idOf = (scheduleId: string): string => workflowIds.scheduleClock(scheduleId);
  const handleOf = (scheduleId: string) => client.schedule.getHandle(idOf(scheduleId));
  /** Next times, by what the clock starts then. A list of schedules would otherwise be a request to Temporal for each. */
  const known = new LRUCache<string, Date>({ max: KNOWN_TIMES });

  /** Returns null instead of throwing if the schedule has no clock. */
  async function ifFound<T>(request: () => Promise<T>): Promise<T | null> {
    try {
      return await send(request);
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) return null;
      throw error;
    }
  }

  async function createOrUpdate(id: string, options: ReturnType<typeof optionsOf>): Promise<void> {
    const update = async () => {
      await handleOf(id).update(() => options);
      return true;
    };
    if ((await ifFound(update)) !== null) return;
    try {
      await send(() => client.schedule.create({ scheduleId: idOf(id), ...options }));
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await ifFound(update);
    }
  }

  async function page(scheduleId: string, from: Date, to: Date): Promise<Date[]> {
    const list = async () => {
      try {
        return await client.workflowService.listScheduleMatchingTimes({
          namespace: client.options.namespace,
          scheduleId: idOf(scheduleId),
          startTime: toTimestamp(from),
          endTime: toTimestamp(to),
        });
      } catch (error) {
        if (isGrpcServiceError(error) && error.code === NOT_FOUND)
          throw new ScheduleNotFoundError('the schedule has no clock', scheduleId);
        throw error;
      }
    };
    const { startTime } = await send(list);
    return startTime.map(({ seconds }) => new Date(Number(seconds ?? 0) * 1000));
  }

  return {
    async set(settings) {
      try {
        await createOrUpdate(settings._id, optionsOf(settings));
      } catch (error) {
        if (error instanceof TypeError && /time ?zone/i.test(error.message))
          throw new UnknownTimeZone(settings.timeZone, { cause: error });
        throw error;
      }
    },

    async remove(scheduleId) {
      await ifFound(() => handleOf(scheduleId).delete());
    },

    async next({ _id, version }) {
      const firing = workflowIds.scheduleFiring(_id, version);
      const remembered = known.get(firing);
      if (remembered !== undefined && remembered > new Date()) return remembered;
      const described = await ifFound(() => handleOf(_id).describe());
      const next = described?.info.nextActionTimes[0] ?? null;
      // A clock that is still that of another version has other times.
      if (next !== null && described?.action.workflowId === firing) known.set(firing, next);
      return next;
    },

    async times(scheduleId, from, to, most) {
      const times: Date[] = [];
      // Temporal returns only the first thousand, and may leave out a time that is equal to `startTime`.
      let after = new Date(from.getTime() - 1000);
      while (times.length <= most) {
        const last = times.at(-1);
        const further = (await page(scheduleId, after, to)).filter(
          (time) => time >= from && time <= to && (last === undefined || time > last),
        );
        const end = further.at(-1);
        if (end === undefined) return times;
        times.push(...further.slice(0, most + 1 - times.length));
        after = end;
      }
      return times;
    },
  };
}
