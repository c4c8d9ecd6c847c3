import { count, percent } from '../dashboard/components/text.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { type DayStatus, uptimeOf } from './status.ts';

const WIDTH = 5;
const GAP = 1;
const HEIGHT = 34;
/** Height of the grey line of a day without checks. */
const LOW = 4;

/** Share of a day's checks that must fail for the colour of a long outage. */
const LONG = 0.02;

const isChecked = ({ ok, failed }: DayStatus): boolean => ok + failed > 0;

/** The uptime and the days that it is about, such as `99.98 % uptime on 12 days`. */
export const uptimeText = (days: readonly DayStatus[]): string => {
  const uptime = uptimeOf(days);
  return uptime === null
    ? 'no checks'
    : `${percent(uptime)} uptime on ${count(days.filter(isChecked).length, 'day')}`;
};

/** Describes a day, such as `99.79 % up, 3 minutes down, 12 minutes unknown`. */
export function dayText(day: DayStatus): string {
  const uptime = uptimeOf([day]);
  const parts = [
    uptime === null ? 'no checks' : `${percent(uptime)} up`,
    ...(day.failed === 0 ? [] : [`${count(day.failed, 'minute')} down`]),
    ...(day.unknown === 0 || uptime === null ? [] : [`${count(day.unknown, 'minute')} unknown`]),
  ];
  return parts.join(', ');
}

function toneOf({ ok, failed }: DayStatus): string {
  if (failed === 0) return 'good';
  return failed / (ok + failed) < LONG ? 'warn' : 'bad';
}

/** A day: a coloured column, or a low grey one if it has no checks. */
function column(day: DayStatus, index: number): Html {
  const [tone, height] = isChecked(day) ? [toneOf(day), HEIGHT] : ['unknown', LOW];
  return html`<g><title>${day.day}: ${dayText(day)}</title><rect class="${tone}" x="${index * WIDTH}" y="${HEIGHT - height}" width="${WIDTH - GAP}" height="${height}"/></g>
`;
}

/** The summary of a chart, for screen readers. */
function summary(days: readonly DayStatus[]): string {
  const isDown = ({ failed }: DayStatus) => failed > 0;
  return `${uptimeText(days)}, downtime on ${count(days.filter(isDown).length, 'day')}`;
}

/** The uptime of a component by day. The page shows the same data as a table. */
export const uptimeBars = (name: string, days: readonly DayStatus[]): Html =>
  html`<svg class="uptime" viewBox="0 0 ${days.length * WIDTH - GAP} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${name}, last ${days.length} days: ${summary(days)}">
${days.map(column)}</svg>`;
