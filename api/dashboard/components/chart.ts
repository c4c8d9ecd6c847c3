import { type Html, html } from '../frame/html.ts';
import { count, number, typed } from './text.ts';

/** A column: its parts from the bottom up, in the order of the series. */
export interface Column {
  label: string;
  /** Added to the label in the tooltip of the column. */
  note?: string;
  values: readonly number[];
}

/** Colours of the parts of a column, which carry no meaning of their own. */
export const PART_TONES = ['part-0', 'part-1', 'part-2', 'part-3', 'part-4'] as const;

interface Series {
  name: string;
  tone: 'accent' | 'bad' | (typeof PART_TONES)[number];
}

interface Chart {
  title: string;
  /** Unit of the values: `call`. */
  unit: string;
  series: readonly Series[];
  columns: readonly Column[];
  /** Default: the sum, and the most on a day. */
  summary?: string;
  /** Whether the legend names the first series too; by default its values are described by the unit alone. */
  isSplit?: boolean;
}

const HEIGHT = 100;
const WIDTH = 10;
const GAP = 2;

const ROUND = [1, 2, 3, 4, 5, 6, 8];

/** The next round number: one of `ROUND` times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return power * (ROUND.find((factor) => factor * power >= value) ?? 10);
}

/** 12,500 as 12.5k, for axes. */
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function columnOf({ label, note, values }: Column, index: number, chart: Chart, top: number): Html {
  const { unit, series, isSplit = false } = chart;
  const x = index * WIDTH + GAP / 2;
  let base = HEIGHT;
  const parts = values.map((value, part) => {
    const height = (value / top) * HEIGHT;
    base -= height;
    return height === 0
      ? null
      : html`<rect class="${series[part]?.tone ?? 'accent'}" x="${x}" y="${base.toFixed(2)}" width="${WIDTH - GAP}" height="${height.toFixed(2)}"/>`;
  });
  const more = values.flatMap((value, part) =>
    value === 0 || (part === 0 && !isSplit) ? [] : html`, ${number(value)} ${series[part]?.name ?? ''}`,
  );
  return html`<g><title>${label}: ${note ?? html`${count(sum(values), unit)}${more}`}</title><rect class="hit" x="${index * WIDTH}" y="0" width="${WIDTH}" height="${HEIGHT}"/>${parts.map((part) => html`${part}`)}</g>
`;
}

/** A column chart with an axis. The page shows the same data as a table. */
export function columnChart(chart: Chart): Html {
  const { title, unit, series, columns } = chart;
  const totals = columns.map(({ values }) => sum(values));
  const most = Math.max(0, ...totals);
  const top = roundUp(most);
  const middle = top % 2 === 0 ? top / 2 : null;
  const summary = chart.summary ?? `${count(sum(totals), unit)}, at most ${number(most)} a day`;
  const legend =
    series.length === 0 || (series.length === 1 && chart.isSplit !== true)
      ? null
      : html`<ul class="legend">${series.map(
          ({ name, tone }) => html`<li><span class="swatch ${tone}"></span>${typed(name)}</li>
`,
        )}</ul>`;
  return html`<figure class="chart">
<figcaption><strong>${title}</strong> <span class="quiet">${summary}</span>${legend}</figcaption>
<div class="plot">
<p class="scale" aria-hidden="true"><span>${short.format(top)}</span><span>${middle === null ? '' : short.format(middle)}</span><span>0</span></p>
<svg viewBox="0 0 ${columns.length * WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}: ${summary}">
<path class="grid" d="M0 0h${columns.length * WIDTH}${middle === null ? '' : `M0 ${HEIGHT / 2}h${columns.length * WIDTH}`}"/>
${columns.map((column, index) => columnOf(column, index, chart, top))}</svg>
</div>
<p class="axis" aria-hidden="true"><span>${columns[0]?.label ?? ''}</span><span>${columns[Math.floor(columns.length / 2)]?.label ?? ''}</span><span>${columns.at(-1)?.label ?? ''}</span></p>
</figure>`;
}

/** A horizontal bar in a table cell. @param share from 0 to 1 */
export const bar = (share: number): Html =>
  html`<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="4"/><rect width="${(share * 100).toFixed(1)}" height="4"/></svg>`;
