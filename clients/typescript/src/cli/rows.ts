/** Formats rows of texts as a table whose columns are aligned, with a heading. */
export function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** `field: value` for each field. */
export const fieldsOf = (output: object): string =>
  Object.entries(output)
    .map(([field, value]) => `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}\n`)
    .join('');

/** A value as one line of JSON. */
export const jsonOf = (value: unknown): string => `${JSON.stringify(value)}\n`;

/** The first rows of a list. */
export async function firstOf<T>(rows: AsyncIterable<T>, count: number): Promise<T[]> {
  const found: T[] = [];
  for await (const row of rows) {
    if (found.length === count) break;
    found.push(row);
  }
  return found;
}
