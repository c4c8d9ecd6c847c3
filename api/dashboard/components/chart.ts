import { type Html, html } from '../html.ts';
import { count, number } from './text.ts';

export interface Bar {
  label: string;
  value: number;
}

const HEIGHT = 100;
const WIDTH = 10;
const GAP = 2;

/** A column chart, with the same data below as text and as a table. */
export function columnChart(title: string, unit: string, bars: readonly Bar[]): Html {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const rects = bars.map(({ label, value }, index) => {
    const height = (value / most) * HEIGHT;
    return html`<rect x="${index * WIDTH + GAP / 2}" y="${HEIGHT - height}" width="${WIDTH - GAP}" height="${height}"><title>${label}: ${count(value, unit)}</title></rect>`;
  });
  const total = bars.reduce((sum, { value }) => sum + value, 0);
  return html`<figure class="chart">
<svg viewBox="0 0 ${bars.length * WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}: ${count(total, unit)}, at most ${number(most)} a day">
${rects}
</svg>
<p class="axis" aria-hidden="true"><span>${bars[0]?.label ?? ''}</span><span>${bars.at(-1)?.label ?? ''}</span></p>
<figcaption>${title}: ${count(total, unit)}, at most ${number(most)} a day.</figcaption>
<details><summary>The same as a list</summary>
<ul>${bars.map(({ label, value }) => html`<li>${label}: ${number(value)}</li>`)}</ul>
</details>
</figure>`;
}

/** A bar chart; each bar has its name and value. */
export function barChart(bars: readonly Bar[]): Html {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  return html`<ul class="bars">
${bars.map(
  ({ label, value }) => html`<li><span>${label}</span> <span class="value">${number(value)}</span>
<svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="${(value / most) * 100}" height="4"></rect></svg></li>
`,
)}</ul>`;
}
