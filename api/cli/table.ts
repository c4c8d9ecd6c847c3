import { isRecord } from '../../schemas/isRecord.ts';

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value)) return value.map(cell).join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function aligned(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

function ofRows(rows: readonly Record<string, unknown>[]): string {
  const columns = Object.keys(rows[0] ?? {});
  if (columns.length === 0) return '(none)\n';
  return aligned([columns, ...rows.map((row) => columns.map((column) => cell(row[column])))]);
}

/** Formats the result of a command as text: one field per line, followed by a table for each list. */
export function table(result: unknown): string {
  const fields = isRecord(result) ? Object.entries(result) : [];
  const lists = fields.flatMap(([name, value]) =>
    Array.isArray(value) && value.every(isRecord) ? [{ name, rows: value }] : [],
  );
  const isList = (name: string): boolean => lists.some((list) => list.name === name);
  const plain = fields.filter(([name]) => !isList(name)).map(([name, value]) => [name, cell(value)]);
  const titled = lists.map(({ name, rows }) => `${name}:\n${ofRows(rows)}`);
  return [aligned(plain), ...titled].filter((part) => part !== '').join('\n');
}
