import { count } from '../dashboard/components/text.ts';
import { type Html, html } from '../dashboard/html.ts';
import { type DayStatus, uptimeOf } from './status.ts';

const WIDTH = 5;
const GAP = 1;
const HEIGHT = 34;
/** Height of the grey line of a day without checks, and least height of a day with checks. */
const LEAST = 4;

/** Share of a day's checks that must fail for the colour of a long outage. */
const LONG = 0.02;

/** 99.98 as `99.98 %`. */
export const uptimeText = (days: readonly DayStatus[]): string => {
  const uptime = uptimeOf(days);
  return uptime === null ? 'no checks' : `${uptime} %`;
};

/** Describes a day, such as `99.79 % up, 3 minutes down, 12 minutes unknown`. */
export function dayText(day: DayStatus): string {
  const uptime = uptimeOf([day]);
  const parts = [
    uptime === null ? 'no checks' : `${uptime} % up`,
    ...(day.failed === 0 ? [] : [`${count(day.failed, 'minute')} down`]),
    ...(day.unknown === 0 || uptime === null ? [] : [`${count(day.unknown, 'minute')} unknown`]),
  ];
  return parts.join(', ');
}

function toneOf({ ok, failed }: DayStatus): string {
  if (failed === 0) return 'good';
  return failed / (ok + failed) < LONG ? 'warn' : 'bad';
}

/** A day: a coloured column as high as the share of the day with checks, below the grey rest. */
function column(day: DayStatus, index: number): Html {
  const known = day.ok + day.failed;
  const x = index * WIDTH;
  const height = Math.max(LEAST, (known / (known + day.unknown)) * HEIGHT);
  const rect = (tone: string, y: number, size: number) =>
    html`<rect class="${tone}" x="${x}" y="${y.toFixed(1)}" width="${WIDTH - GAP}" height="${size.toFixed(1)}"/>`;
  return html`<g><title>${day.day}: ${dayText(day)}</title>${
    known === 0
      ? rect('unknown', HEIGHT - LEAST, LEAST)
      : html`${height < HEIGHT ? rect('unknown', 0, HEIGHT - height) : null}${rect(toneOf(day), HEIGHT - height, height)}`
  }</g>
`;
}

/** The summary of a chart, for screen readers. */
function summary(days: readonly DayStatus[]): string {
  const isDown = ({ failed }: DayStatus) => failed > 0;
  const without = days.filter(({ ok, failed }) => ok + failed === 0).length;
  const parts = [
    `uptime ${uptimeText(days)}`,
    `downtime on ${count(days.filter(isDown).length, 'day')}`,
    ...(without === 0 ? [] : [`no checks on ${count(without, 'day')}`]),
  ];
  return parts.join(', ');
}

/** The uptime of a component by day. The page shows the same data as a table. */
export const uptimeBars = (name: string, days: readonly DayStatus[]): Html =>
  html`<svg class="uptime" viewBox="0 0 ${days.length * WIDTH - GAP} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${name}, last ${days.length} days: ${summary(days)}">
${days.map(column)}</svg>`;
