import type { ComponentStates } from '../../schemas/status.ts';
import { firstDay } from '../billing/usage.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import type { StatusDayDoc } from './statusDocs.ts';

/** Number of days that the status page shows, including today. */
export const STATUS_DAYS = 90;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Timeout of a write; the caller repeats it. */
const WRITE_TIMEOUT_MS = 10_000;

/** The recorded checks of one UTC day. */
export type StatusDay = Omit<StatusDayDoc, 'minutes'>;

/**
 * Records the result of the checks of one minute, unless an API process has already recorded this minute. One conditional
 * update decides, so that the order of minutes does not matter and each minute counts once.
 *
 * @param minute start of the minute
 * @returns whether this call recorded the minute
 */
export async function recordMinute(
  { statusDays }: Pick<Store, 'statusDays'>,
  minute: Date,
  states: ComponentStates,
): Promise<boolean> {
  const day = new Date(Math.floor(minute.getTime() / DAY_MS) * DAY_MS);
  const field = `minutes.${Math.floor((minute.getTime() - day.getTime()) / MINUTE_MS)}`;
  const counted = Object.entries(states).filter(([, state]) => state !== 'unknown');
  const increments = Object.fromEntries(counted.map(([component, state]) => [`${state}.${component}`, 1]));
  const update = {
    $set: { [field]: true },
    $setOnInsert: { day },
    ...(counted.length > 0 && { $inc: increments }),
  };
  const record = () =>
    statusDays.updateOne({ _id: day.toISOString().slice(0, 10), [field]: { $exists: false } }, update, {
      upsert: true,
      timeoutMS: WRITE_TIMEOUT_MS,
    });
  try {
    await record();
    return true;
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
  // The document exists: either it contains this minute, or another process has just created it for another minute.
  try {
    await record();
    return true;
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    return false;
  }
}

/**
 * Reads the recorded days of the status page, oldest first. Days without checks are missing.
 *
 * @param timeoutMs timeout of the read
 */
export const readStatusDays = (
  { statusDays }: Pick<Store, 'statusDays'>,
  now: Date,
  timeoutMs: number,
): Promise<StatusDay[]> =>
  statusDays
    .find<StatusDay>(
      { day: { $gte: firstDay(now, STATUS_DAYS) } },
      { projection: { minutes: 0 }, sort: { day: 1 }, timeoutMS: timeoutMs },
    )
    .toArray();
