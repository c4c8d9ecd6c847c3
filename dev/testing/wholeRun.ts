import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRecord } from '../../schemas/isRecord.ts';

/** A run of the whole slow tier, with what later runs have added to it. */
export interface WholeRun {
  /** The commit that was tested last. */
  commit: string;
  minutes: number;
  /** Number of passed tests by file, of the files that passed. */
  passed: Readonly<Record<string, number>>;
  /** Files that passed only when they ran once more. */
  flaky: readonly string[];
}

const FILE = fileURLToPath(
  new URL('../../node_modules/.cache/utility-tools-api/whole-run.json', import.meta.url),
);

const isWholeRun = (value: unknown): value is WholeRun =>
  isRecord(value) &&
  typeof value.commit === 'string' &&
  typeof value.minutes === 'number' &&
  isRecord(value.passed) &&
  Array.isArray(value.flaky);

/** Returns the last run of the whole slow tier in this checkout; null if there is none. */
export function readWholeRun(): WholeRun | null {
  try {
    const value: unknown = JSON.parse(readFileSync(FILE, 'utf8'));
    return isWholeRun(value) ? value : null;
  } catch {
    // A missing or damaged file means that nothing is known.
    return null;
  }
}

export function recordWholeRun(run: WholeRun): void {
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, JSON.stringify(run));
}

/** Adds a run of some files to an earlier run. @param ran all files of the later run, whether they passed or not */
export const addRun = (before: WholeRun, later: WholeRun, ran: readonly string[]): WholeRun => ({
  commit: later.commit,
  minutes: before.minutes + later.minutes,
  passed: {
    ...Object.fromEntries(Object.entries(before.passed).filter(([file]) => !ran.includes(file))),
    ...later.passed,
  },
  flaky: [...new Set([...before.flaky.filter((file) => !ran.includes(file)), ...later.flaky])],
});
