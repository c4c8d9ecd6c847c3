import type { ScheduleDoc } from './scheduleDocs.ts';
import type { Schedules } from './schedules.ts';

/** What the clock of a schedule has of it. */
export type ClockSettings = Pick<
  ScheduleDoc,
  '_id' | 'accountId' | 'cron' | 'timeZone' | 'paused' | 'version'
>;

/** The clocks of schedules. */
export interface Clock {
  /** Creates or changes the clock of a schedule. */
  set(settings: ClockSettings): Promise<void>;
  /** Deletes the clock of a schedule; no-op if there is none. */
  remove(scheduleId: string): Promise<void>;
}

/**
 * Makes the clock of a schedule equal to its document, or deletes both if the schedule was deleted. Every change marks the document
 * as different first, so that the sweeper repeats this for those whose process was killed. Can be repeated, also at the
 * same time.
 */
export async function syncClock(schedules: Schedules, clock: Clock, id: string): Promise<void> {
  for (;;) {
    const schedule = await schedules.read(id);
    if (schedule === null) return clock.remove(id);
    if (schedule.deletedAt !== undefined) {
      await clock.remove(id);
      return schedules.forget(id);
    }
    await clock.set(schedule);
    // A change in between may have set the clock before this did.
    if (await schedules.synced(id, schedule.version)) return;
  }
}
