import { type Html, html } from '../frame/html.ts';

export interface Column<Row> {
  title: string;
  /** Right-aligned. */
  numeric?: true;
  /** Also compact rows show the title of this column. */
  isLabelled?: true;
  /** The cells are buttons, whose labels say what the title says. */
  isAction?: true;
  cell(row: Row): Html | string | number | null;
}

export interface Look {
  /** The name is visible beside the table, so the caption is only for screen readers. */
  isNamed?: boolean;
  /** Whether the cards on narrow screens are short: only numbers and labelled columns show their titles. */
  isCompact?: boolean;
}

/**
 * A table of rows. On narrow screens each row is shown as a card; CSS then removes the table semantics, and the ARIA
 * roles restore them.
 */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { isNamed = false, isCompact = false }: Look = {},
): Html {
  const kind = ({ numeric, isLabelled, isAction }: Column<Row>) => {
    if (numeric) return html` class="numeric"`;
    if (isAction) return html` class="action"`;
    return isLabelled ? html` class="labelled"` : null;
  };
  const titleOf = ({ title, isAction }: Column<Row>) =>
    isAction ? html`<span class="unseen">${title}</span>` : title;
  const head = columns.map(
    (column) => html`<th role="columnheader" scope="col"${kind(column)}>${titleOf(column)}</th>
`,
  );
  const body = rows.map(
    (row) => html`<tr role="row">
${columns.map(
  (column) => html`<td role="cell" data-title="${column.title}"${kind(column)}>${column.cell(row)}</td>
`,
)}
</tr>
`,
  );
  return html`<table role="table"${isCompact ? html` class="compact"` : null}>
<caption${isNamed ? html` class="unseen"` : null}>${caption}</caption>
<thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">
${body}</tbody>
</table>`;
}
