interface Column {
  title: string;
  /** Whether the column contains numbers, which are aligned to the right. */
  numeric?: true;
}

/** Formats a Markdown table with aligned columns. */
export function markdownTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = columns.map(({ title }, index) =>
    Math.max(3, title.length, ...cells.map((row) => row[index]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row
      .map((cell, index) =>
        columns[index]?.numeric ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0),
      )
      .join(' | ')} |`;
  const rule = columns.map(({ numeric }, index) =>
    numeric ? `${'-'.repeat((widths[index] ?? 3) - 1)}:` : '-'.repeat(widths[index] ?? 3),
  );
  return [columns.map(({ title }) => title), rule, ...cells].map(line).join('\n');
}
