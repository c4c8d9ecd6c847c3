import { type Html, html } from '../../html.ts';

export interface Column<Row> {
  title: string;
  /** Numbers stand to the right. */
  numeric?: true;
  cell(row: Row): Html | string | number | null;
}

interface Look {
  /** Where the name stands beside the table already, it is only said. */
  isNamed?: boolean;
}

/**
 * Rows of a list. On a narrow screen each becomes a card, which takes from the elements what they mean: the roles give
 * it back.
 */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { isNamed = false }: Look = {},
): Html {
  const kind = ({ numeric }: Column<Row>) => (numeric ? html` class="numeric"` : null);
  const head = columns.map(
    (column) => html`<th role="columnheader" scope="col"${kind(column)}>${column.title}</th>
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
  return html`<table role="table">
<caption${isNamed ? html` class="unseen"` : null}>${caption}</caption>
<thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">
${body}</tbody>
</table>`;
}
