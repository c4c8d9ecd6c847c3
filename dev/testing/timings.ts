import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRecord } from '../../schemas/isRecord.ts';

/** Seconds that each test file took, by path. */
export type Timings = Readonly<Record<string, number>>;

/** A run of the whole slow tier that passed. */
interface PassedRun {
  /** The commit that was tested. */
  commit: string;
  date: string;
  minutes: number;
  /** Number of tests. */
  passed: number;
  /** Files that passed only when they ran once more. */
  flaky: readonly string[];
  /** Of all test files whose last time is known. */
  seconds: Timings;
}

const path = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

/** Each run adds the times of its files to this file. */
const RECORDED = path('node_modules/.cache/utility-tools-api/test-seconds.json');
/** The last run of the whole slow tier that passed. It is committed, because selection.ts counts changes from its commit. */
const PASSED = path('test/passed.json');

function readFields(file: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isRecord(value) ? value : {};
  } catch {
    // A missing or damaged file only means that nothing is known.
    return {};
  }
}

const timingsIn = (value: unknown): Record<string, number> =>
  Object.fromEntries(
    Object.entries(isRecord(value) ? value : {}).flatMap(([file, seconds]) =>
      typeof seconds === 'number' ? [[file, seconds]] : [],
    ),
  );

/** Returns the last known time of each test file: of this checkout, else of the last whole run of the slow tier. */
export const readTimings = (): Timings => ({
  ...timingsIn(readFields(PASSED).seconds),
  ...timingsIn(readFields(RECORDED)),
});

/** Adds the times of a run to those of this checkout. */
export function recordTimings(seconds: Timings): void {
  mkdirSync(dirname(RECORDED), { recursive: true });
  writeFileSync(RECORDED, JSON.stringify({ ...timingsIn(readFields(RECORDED)), ...seconds }));
}

/** Returns the commit at which the whole slow tier last passed; null if none is recorded. */
export function passedCommit(): string | null {
  const { commit } = readFields(PASSED);
  return typeof commit === 'string' ? commit : null;
}

/** Records a run of the whole slow tier that passed. */
export function recordPassedRun(run: Omit<PassedRun, 'seconds'>): void {
  const seconds = Object.fromEntries(
    Object.entries(readTimings()).sort(([first], [second]) => (first < second ? -1 : 1)),
  );
  writeFileSync(PASSED, `${JSON.stringify({ ...run, seconds }, null, 2)}\n`);
}

/** Returns a comparator that puts the files that took longest first, and files without a known time before them. */
export function longestFirst(timings: Timings): (first: string, second: string) => number {
  const seconds = (file: string): number => timings[file] ?? Number.MAX_SAFE_INTEGER;
  return (first, second) => seconds(second) - seconds(first);
}
