import {
  COMPONENTS,
  type Component,
  type ComponentState,
  type ComponentStates,
} from '../../schemas/status.ts';
import { firstDay } from '../../store/billing/usage.ts';
import { STATUS_DAYS, type StatusDay } from '../../store/status/statusDays.ts';
import type { IncidentDoc } from '../../store/status/statusDocs.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const DAY_MINUTES = DAY_MS / MINUTE_MS;

/** The minutes of a component's day by their state. Minutes without a check are unknown. */
export interface DayStatus {
  /** Such as `2026-11-24`. */
  day: string;
  ok: number;
  failed: number;
  unknown: number;
}

/** The state of a component now, and its checks by day, oldest first. */
export interface ComponentStatus {
  component: Component;
  state: ComponentState;
  days: DayStatus[];
}

/** The data of the status page. */
export interface Status {
  checkedAt: Date;
  components: ComponentStatus[];
  /** Newest first. */
  incidents: readonly IncidentDoc[];
  /** False if the history could not be read, and is missing or older than `checkedAt`. */
  isHistoryCurrent: boolean;
}

/** The part of the status that MongoDB stores. */
export interface History {
  days: readonly StatusDay[];
  incidents: readonly IncidentDoc[];
}

/** Number of minutes of a day that have passed. */
const minutesOf = (day: number, now: Date): number =>
  Math.min(DAY_MINUTES, Math.floor((now.getTime() - day) / MINUTE_MS));

function daysOf(component: Component, { days }: History, now: Date): DayStatus[] {
  const byDay = new Map(days.map((row) => [row.day.getTime(), row]));
  const first = firstDay(now, STATUS_DAYS).getTime();
  return Array.from({ length: STATUS_DAYS }, (_, index) => {
    const day = first + index * DAY_MS;
    const row = byDay.get(day);
    const ok = row?.ok?.[component] ?? 0;
    const failed = row?.failed?.[component] ?? 0;
    return {
      day: new Date(day).toISOString().slice(0, 10),
      ok,
      failed,
      unknown: Math.max(0, minutesOf(day, now) - ok - failed),
    };
  });
}

/** Combines the current states with the history. Components that this installation does not check are left out. */
export const statusOf = (
  states: ComponentStates,
  history: History,
  isHistoryCurrent: boolean,
  now: Date,
): Status => ({
  checkedAt: now,
  components: COMPONENTS.flatMap((component) => {
    const state = states[component];
    return state === undefined ? [] : [{ component, state, days: daysOf(component, history, now) }];
  }),
  incidents: history.incidents,
  isHistoryCurrent,
});

/** The share of checked minutes in which a component worked, in percent, rounded down; null without checks. */
export function uptimeOf(days: readonly Pick<DayStatus, 'ok' | 'failed'>[]): number | null {
  const ok = days.reduce((sum, day) => sum + day.ok, 0);
  const failed = days.reduce((sum, day) => sum + day.failed, 0);
  return ok + failed === 0 ? null : Math.floor((ok / (ok + failed)) * 10_000) / 100;
}
