/** Returns a Markdown table with aligned columns. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const body = rows.map((cells) => cells.map(String));
  const widths = head.map((_, at) => Math.max(3, ...[head, ...body].map((cells) => cells[at]?.length ?? 0)));
  const lines = [head, widths.map((width) => '-'.repeat(width)), ...body];
  return lines
    .map((cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`)
    .join('\n');
}
