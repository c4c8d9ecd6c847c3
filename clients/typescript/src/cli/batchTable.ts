import { open } from 'node:fs/promises';
import type { BatchFolder } from './batchFolder.ts';

/** First characters that make a spreadsheet interpret text as a formula (OWASP, "CSV Injection"). */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A record of CSV (RFC 4180). */
const recordOf = (cells: readonly unknown[]): string => `${cells.map(cellOf).join(',')}\r\n`;

const HEAD = ['row', 'id', 'callId', 'tool', 'state', 'charged', 'code', 'file'] as const;

const fieldsOf = (value: unknown): Map<string, unknown> =>
  new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);

/** Writes the results of a folder as CSV, with a column for each field of the outputs. */
export async function writeTable(folder: BatchFolder, path: string): Promise<void> {
  const columns = new Set<string>();
  for await (const { output } of folder.read()) for (const name of fieldsOf(output).keys()) columns.add(name);
  const file = await open(path, 'w');
  try {
    await file.write(recordOf([...HEAD, 'detail', ...[...columns].map((name) => `output.${name}`)]));
    for await (const { output, error, ...row } of folder.read()) {
      const fields = fieldsOf(output);
      const own = HEAD.map((name) => row[name]);
      const cells = [...own, fieldsOf(error).get('detail'), ...[...columns].map((name) => fields.get(name))];
      await file.write(recordOf(cells));
    }
  } finally {
    await file.close();
  }
}
