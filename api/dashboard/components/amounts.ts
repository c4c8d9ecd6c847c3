import { type Html, html } from '../frame/html.ts';
import { number } from './text.ts';

interface Amount {
  term: string;
  /** A number of credits, or text. */
  value: number | string;
  note: string;
  /** Which number of a batch it shows, for the script that follows the batch. */
  live?: string;
}

/** Key figures in large type. */
export const amounts = (items: readonly Amount[]): Html => html`<dl class="amounts">
${items.map(
  ({ term, value, note, live }) => html`<div>
<dt>${term}</dt>
<dd>${
    typeof value === 'number'
      ? html`<data value="${value}"${live === undefined ? null : html` data-live="${live}"`}>${number(value)}</data>`
      : html`<span class="figure">${value}</span>`
  }
<small>${note}</small></dd>
</div>`,
)}
</dl>`;
