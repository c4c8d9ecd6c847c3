/** A cron expression, as the values of each field. */
export interface Cron {
  minutes: number[];
  hours: number[];
  days: number[];
  months: number[];
  /** 0 is Sunday. */
  weekdays: number[];
  /** Whether a day matches that is in `days` or in `weekdays`; else it must be in both. */
  eitherDay: boolean;
}

interface Field {
  name: string;
  min: number;
  max: number;
  /** Names of the values from `min` on. */
  names: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MINUTE: Field = { name: 'minute', min: 0, max: 59, names: [] };
const HOUR: Field = { name: 'hour', min: 0, max: 23, names: [] };
const DAY: Field = { name: 'day of the month', min: 1, max: 31, names: [] };
const MONTH: Field = { name: 'month', min: 1, max: 12, names: MONTHS };
/** Sunday is 0 or 7. */
const WEEKDAY: Field = { name: 'day of the week', min: 0, max: 7, names: WEEKDAYS };
/** Days of the months of a leap year. */
const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** A part of a field, such as `*`, `5`, `mon-fri`, `10-20/5` or a star with a step. */
const PART = /^(?:(\*)|([a-z]{3}|\d{1,2})(?:-([a-z]{3}|\d{1,2}))?)(?:\/(\d{1,2}))?$/;

class CronFault extends Error {}

function numberOf(text: string, { name, min, max, names }: Field): number {
  const index = names.indexOf(text);
  const value = index >= 0 ? min + index : Number(text);
  if (!Number.isInteger(value) || value < min || value > max)
    throw new CronFault(`the ${name} must be from ${min} to ${max}`);
  return value;
}

function valuesOf(text: string, field: Field): number[] {
  const values = new Set<number>();
  for (const part of text.toLowerCase().split(',')) {
    const [, star, first, last, stepText] = PART.exec(part) ?? [];
    if (star === undefined && first === undefined)
      throw new CronFault(`the ${field.name} is not a value, a range, a list or *`);
    const step = stepText === undefined ? 1 : Number(stepText);
    if (step < 1) throw new CronFault(`the step of the ${field.name} must be at least 1`);
    const from = first === undefined ? field.min : numberOf(first, field);
    const open = first === undefined || stepText !== undefined ? field.max : from;
    const to = last === undefined ? open : numberOf(last, field);
    if (to < from) throw new CronFault(`the range of the ${field.name} ends before it begins`);
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

/** Whether a month has one of the days. */
const hasDate = (months: readonly number[], days: readonly number[]): boolean =>
  months.some((month) => days.some((day) => day <= (LONGEST[month - 1] ?? 0)));

/**
 * Parses a cron expression of five fields: minute, hour, day of the month, month and day of the week, with lists, ranges, steps and
 * English names of three letters. As in cron, a day matches one of the two fields of days if neither begins with `*`, else
 * both. The shortest interval that it can express is a minute.
 *
 * @returns what is wrong, as text for an error message, if it is not valid or never matches
 */
export function parseCron(text: string): Cron | string {
  const fields = text.trim().split(/\s+/);
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  if (fields.length !== 5)
    return 'must have five fields: minute, hour, day of the month, month and day of the week';
  try {
    const cron: Cron = {
      minutes: valuesOf(minute, MINUTE),
      hours: valuesOf(hour, HOUR),
      days: valuesOf(day, DAY),
      months: valuesOf(month, MONTH),
      weekdays: [...new Set(valuesOf(weekday, WEEKDAY).map((value) => value % 7))].sort((a, b) => a - b),
      eitherDay: !day.startsWith('*') && !weekday.startsWith('*'),
    };
    return cron.eitherDay || hasDate(cron.months, cron.days) ? cron : 'matches no date';
  } catch (error) {
    if (error instanceof CronFault) return error.message;
    throw error;
  }
}

/** Names of time zones, without offsets such as `+01:00`, which JavaScript accepts too. */
const ZONE = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;

/** Whether a text is the name of a time zone in the IANA database. */
export function isTimeZone(text: string): boolean {
  if (!ZONE.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
