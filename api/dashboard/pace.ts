import type { DailyToolUsage } from '../../store/mongo.ts';
import { firstDay, USAGE_DAYS } from '../../store/usage.ts';
import { count } from './components/text.ts';

const DAY_MS = 86_400_000;
const PACE_DAYS = 7;
/** Longest forecast. */
const LONG_DAYS = 730;

const dayOf = (date: Date): string => date.toISOString().slice(0, 10);

const sum = (rows: readonly DailyToolUsage[]): number =>
  rows.reduce((total, { charged }) => total + charged, 0);

/** All days, oldest first, including days without calls. */
export function perDay(usage: readonly DailyToolUsage[], now: Date): { day: string; charged: number }[] {
  const byDay = Map.groupBy(usage, ({ day }) => dayOf(day));
  const first = firstDay(now).getTime();
  return Array.from({ length: USAGE_DAYS }, (_, index) => {
    const day = dayOf(new Date(first + index * DAY_MS));
    return { day, charged: sum(byDay.get(day) ?? []) };
  });
}

/** Tools by credits charged, largest first. */
export const perTool = (usage: readonly DailyToolUsage[]): { tool: string; charged: number }[] =>
  [...Map.groupBy(usage, ({ tool }) => tool)]
    .map(([tool, rows]) => ({ tool, charged: sum(rows) }))
    .sort((a, b) => b.charged - a.charged);

/** How long the credits last at the average daily use of the last seven days. */
export function lasts(available: number, usage: readonly DailyToolUsage[], now: Date): string {
  const from = firstDay(now, PACE_DAYS);
  const week = sum(usage.filter(({ day }) => day >= from));
  if (available === 0) return 'nothing left';
  if (week === 0) return '–';
  const days = Math.floor(available / (week / PACE_DAYS));
  if (days > LONG_DAYS) return 'years';
  return days === 0 ? 'less than a day' : count(days, 'day');
}
