import { type Fault, invalidInput } from '../../schemas/errors.ts';
import { isTimeZone, parseCron } from '../../schemas/formats/cron.ts';
import { BACKFILL_DAYS, type ScheduleChangeBody } from '../../schemas/schedules.ts';

export const ZONE_RULE = 'must be the name of a time zone, such as Europe/Berlin';

const DAY_MS = 86_400_000;

function assertNone(faults: readonly Fault[]): void {
  if (faults.length > 0) throw invalidInput(faults);
}

/** Checks the fields that say when a schedule runs. @throws ServiceError invalid_input */
export function checkTimes({ cron, timeZone }: Pick<ScheduleChangeBody, 'cron' | 'timeZone'>): void {
  const parsed = cron === undefined ? null : parseCron(cron);
  assertNone([
    ...(typeof parsed === 'string' ? [{ pointer: '/cron', message: parsed }] : []),
    ...(timeZone === undefined || isTimeZone(timeZone) ? [] : [{ pointer: '/timeZone', message: ZONE_RULE }]),
  ]);
}

/** Checks the period of a backfill. @throws ServiceError invalid_input */
export function checkPeriod(from: Date, to: Date): void {
  const now = Date.now();
  const { length, past } = BACKFILL_DAYS;
  const days = (to.getTime() - from.getTime()) / DAY_MS;
  assertNone([
    ...(days < 0 || days > length
      ? [{ pointer: '/to', message: `must be at most ${length} days after from, and not before it` }]
      : []),
    ...(to.getTime() > now ? [{ pointer: '/to', message: 'must not be in the future' }] : []),
    ...(from.getTime() < now - past * DAY_MS
      ? [{ pointer: '/from', message: `must be at most ${past} days ago` }]
      : []),
  ]);
}
