import { readFile, writeFile } from 'node:fs/promises';
import { isRecord } from '../schemas/isRecord.ts';

const FILE = new URL('../test/bench/results.json', import.meta.url);

/** A figure of the last run of the benchmark that was saved. */
export interface Saved {
  value: number;
  /** Day of the run, as in ISO 8601. */
  date: string;
}

const isSaved = (value: unknown): value is Saved =>
  isRecord(value) && typeof value.value === 'number' && typeof value.date === 'string';

/** Reads the saved figures by their names. @throws Error if the file has another form */
export async function readResults(): Promise<Record<string, Saved>> {
  const content: unknown = JSON.parse(await readFile(FILE, 'utf8'));
  if (!isRecord(content)) throw new Error('test/bench/results.json is not an object');
  return Object.fromEntries(
    Object.entries(content).map(([figure, saved]) => {
      if (!isSaved(saved)) throw new Error(`test/bench/results.json: ${figure} has another form`);
      return [figure, saved];
    }),
  );
}

/** Saves the figures of a run. Those that it did not measure stay as they are. */
export async function saveResults(goals: readonly { figure: string; value: number }[]): Promise<void> {
  const date = new Date().toISOString().slice(0, 10);
  const measured = goals.map(({ figure, value }) => [figure, { value: Number(value.toPrecision(3)), date }]);
  const all = { ...(await readResults()), ...Object.fromEntries(measured) };
  const sorted = Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1));
  await writeFile(FILE, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}
