import test from 'ava';
import { isTimeZone, parseCron } from '../../schemas/formats/cron.ts';

const range = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);

test('cron expressions are parsed as cron does', (t) => {
  const every = {
    minutes: range(0, 59),
    hours: range(0, 23),
    days: range(1, 31),
    months: range(1, 12),
    weekdays: range(0, 6),
    eitherDay: false,
  };
  t.deepEqual(parseCron('* * * * *'), every);
  t.deepEqual(parseCron('  */15 9-17/4 1,15 JAN,jul-Aug mon-fri '), {
    minutes: [0, 15, 30, 45],
    hours: [9, 13, 17],
    days: [1, 15],
    months: [1, 7, 8],
    weekdays: [1, 2, 3, 4, 5],
    eitherDay: true,
  });
  // A value with a step goes on to the end of the field. Sunday is 0 and 7.
  t.deepEqual(parseCron('50/4 0 * * 5-7'), {
    ...every,
    minutes: [50, 54, 58],
    hours: [0],
    weekdays: [0, 5, 6],
  });
  t.like(parseCron('0 0 */2 * mon'), { eitherDay: false, days: range(1, 31, 2) });
  t.like(parseCron('0 0 29 2 *'), { days: [29], months: [2] });
});

test('what is wrong with a cron expression is said', (t) => {
  for (const [text, rule] of [
    ['', /five fields/],
    ['0 0 0 1 1 *', /five fields/],
    ['@hourly', /five fields/],
    ['60 * * * *', /the minute must be from 0 to 59/],
    ['* 24 * * *', /the hour must be from 0 to 23/],
    ['* * 0 * *', /the day of the month must be from 1 to 31/],
    ['* * * 13 *', /the month must be from 1 to 12/],
    ['* * * * 8', /the day of the week must be from 0 to 7/],
    ['* * * feb *', null],
    ['* * feb * *', /the day of the month must be/],
    ['1, * * * *', /the minute is not a value/],
    ['1-2-3 * * * *', /the minute is not a value/],
    ['-1 * * * *', /the minute is not a value/],
    ['1.5 * * * *', /the minute is not a value/],
    ['* * * * mon#1', /the day of the week is not a value/],
    ['*/0 * * * *', /step of the minute must be at least 1/],
    ['30-10 * * * *', /ends before it begins/],
    ['0 0 31 2,4,6 *', /matches no date/],
    ['0 0 30 2 mon', null],
  ] as const) {
    const parsed = parseCron(text);
    if (rule === null) t.not(typeof parsed, 'string', text);
    else t.regex(String(parsed), rule, text);
  }
});

test('time zones have the names of the IANA database', (t) => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'US/Pacific'])
    t.true(isTimeZone(name), name);
  for (const name of ['', '+01:00', 'GMT+1', 'Mars/Base', 'Europe/Berlin ', '../etc/passwd'])
    t.false(isTimeZone(name), name);
});
