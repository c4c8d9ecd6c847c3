import {
  type DailyUsage,
  firstDay,
  type Histogram,
  mergeTimes,
  percentile,
  sumTimes,
} from '../../../../store/billing/usage.ts';
import type { KeyUsage, ToolUsage } from '../../../../store/billing/usageDocs.ts';
import type { RefusalDayDoc } from '../../../../store/calls/refusalDocs.ts';
import { count } from '../../components/text.ts';

const DAY_MS = 86_400_000;
const PACE_DAYS = 7;
/** Longest forecast in days. */
const LONG_DAYS = 730;

/** Calls of a day, a tool, a key or a period. */
export interface Sums {
  calls: number;
  succeeded: number;
  charged: number;
}

const dayOf = (date: Date): string => date.toISOString().slice(0, 10);

export const sumOf = (rows: readonly Sums[]): Sums => ({
  calls: rows.reduce((total, { calls }) => total + calls, 0),
  succeeded: rows.reduce((total, { succeeded }) => total + succeeded, 0),
  charged: rows.reduce((total, { charged }) => total + charged, 0),
});

/** Latency in milliseconds; null without successful calls. */
interface Latency {
  p50: number | null;
  p95: number | null;
}

const latencyOf = (times: Histogram): Latency => ({
  p50: percentile(times, 0.5),
  p95: percentile(times, 0.95),
});

export interface DayUse extends Sums, Latency {
  day: string;
  /** Requests that were refused before they became calls. */
  refused: number;
}

/** All days of a period, oldest first, including days without calls. */
export function perDay(
  usage: readonly DailyUsage[],
  refusals: readonly Pick<RefusalDayDoc, 'day' | 'count'>[],
  days: number,
  now: Date,
): DayUse[] {
  const refused = new Map(refusals.map(({ day, count: requests }) => [dayOf(day), requests]));
  const byDay = new Map(usage.map(({ day, tools }) => [dayOf(day), tools]));
  const first = firstDay(now, days).getTime();
  return Array.from({ length: days }, (_, index) => {
    const day = dayOf(new Date(first + index * DAY_MS));
    const tools = byDay.get(day) ?? [];
    return {
      day,
      ...sumOf(tools),
      ...latencyOf(sumTimes(tools)),
      refused: refused.get(day) ?? 0,
    };
  });
}

/** Credits by day, split by tool or key. */
export interface SplitUse {
  /** Names of the parts, the largest first. */
  names: string[];
  days: { day: string; values: number[] }[];
}

/** Number of tools or keys that have a part of their own; the others are added up. */
const OWN_PARTS = 4;

/**
 * Credits of each day of a period by tool or key, oldest first.
 *
 * @param partsOf the tools or keys of a day with their names
 */
export function splitPerDay(
  usage: readonly DailyUsage[],
  days: readonly Pick<DayUse, 'day'>[],
  partsOf: (usage: DailyUsage) => readonly { name: string; charged: number }[],
): SplitUse {
  const totals = new Map<string, number>();
  const byDay = new Map(
    usage.map((one) => {
      const parts = partsOf(one);
      for (const { name, charged } of parts) totals.set(name, (totals.get(name) ?? 0) + charged);
      return [dayOf(one.day), parts];
    }),
  );
  const ranked = [...totals]
    .filter(([, charged]) => charged > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name]) => name);
  const own = ranked.slice(0, OWN_PARTS);
  const values = (day: string): number[] => {
    const parts = byDay.get(day) ?? [];
    const of = (name: string) => sumCharged(parts.filter((part) => part.name === name));
    const others = sumCharged(parts.filter(({ name }) => !own.includes(name)));
    return [...own.map(of), ...(ranked.length > OWN_PARTS ? [others] : [])];
  };
  return {
    names: [...own, ...(ranked.length > OWN_PARTS ? ['others'] : [])],
    days: days.map(({ day }) => ({ day, values: values(day) })),
  };
}

const sumCharged = (rows: readonly Pick<Sums, 'charged'>[]): number =>
  rows.reduce((total, { charged }) => total + charged, 0);

export interface ToolUse extends Sums, Latency {
  tool: string;
  times: Histogram;
}

/** Numbers of calls and credits and the latency of each tool, sorted by credits and then by calls, descending. */
export function perTool(usage: readonly DailyUsage[]): ToolUse[] {
  const byTool = Map.groupBy(
    usage.flatMap(({ tools }) => tools),
    ({ tool }: ToolUsage) => tool,
  );
  return [...byTool]
    .map(([tool, rows]) => {
      const times = sumTimes(rows);
      return { tool, times, ...sumOf(rows), ...latencyOf(times) };
    })
    .sort((a, b) => b.charged - a.charged || b.calls - a.calls);
}

export const latencyOfAll = (tools: readonly ToolUse[]): Latency =>
  latencyOf(mergeTimes(tools.map(({ times }) => times)));

/** Sums of a key; the keys with the most credits and then calls first. */
export function perKey(
  usage: readonly DailyUsage[],
): (Sums & { keyId: string | null; keyPrefix: string | null })[] {
  const byKey = Map.groupBy(
    usage.flatMap(({ keys }) => keys),
    ({ keyId }: KeyUsage) => keyId,
  );
  return [...byKey]
    .map(([keyId, rows]) => ({ keyId, keyPrefix: rows[0]?.keyPrefix ?? null, ...sumOf(rows) }))
    .sort((a, b) => b.charged - a.charged || b.calls - a.calls);
}

/** The share of calls with a result in percent, rounded down, so that 100 % means all; null without calls. */
export const successOf = ({ calls, succeeded }: Sums): number | null =>
  calls === 0 ? null : Math.floor((succeeded / calls) * 1000) / 10;

/** An estimate of how long the credits last. */
export interface Pace {
  /** Days for which the credits last; null if it cannot be estimated. */
  days: number | null;
  /** Says how it was estimated, or why not. */
  note: string;
}

/**
 * Estimates for how long the credits last at the average daily use of the last seven days, or of all days of an account that
 * is younger. The first day of an account says nothing about the following ones.
 */
export function paceOf(available: number, usage: readonly DailyUsage[], openedAt: Date, now: Date): Pace {
  if (available === 0) return { days: 0, note: 'no credits left' };
  const from = firstDay(now, PACE_DAYS);
  const used = sumOf(usage.filter(({ day }) => day >= from).flatMap(({ tools }) => tools)).charged;
  const age = Math.floor((now.getTime() - openedAt.getTime()) / DAY_MS);
  if (age < 1) return { days: null, note: 'estimated after the first day' };
  if (used === 0) return { days: null, note: `no use in the last ${count(PACE_DAYS, 'day')}` };
  const days = Math.min(PACE_DAYS, age);
  return {
    days: Math.floor(available / (used / days)),
    note: `at the average use of the last ${days === 1 ? 'day' : count(days, 'day')}`,
  };
}

export function timeLeft(available: number, { days }: Pace): string {
  if (available === 0 || days === null) return '–';
  if (days > LONG_DAYS) return 'years';
  return days === 0 ? '< 1 day' : count(days, 'day');
}
