import type { FileResult } from './tap.ts';

/** A file that failed and passed when it ran once more, with the output of both runs. */
export interface Flaky {
  file: string;
  /** Lines of the tests that failed first. */
  first: string[];
  /** All lines of the second run. */
  second: string[];
}

/** A run with more flaky files than this fails. */
export const MOST_FLAKY = 5;
const SLOWEST = 20;
const INDENT = '    ';

export function slowestLines(results: ReadonlyMap<string, FileResult>): string[] {
  const timed = [...results].flatMap(([file, { ms }]) => (ms === null ? [] : [{ file, ms }]));
  const slowest = timed.sort((first, second) => second.ms - first.ms).slice(0, SLOWEST);
  return [
    '# The slowest files, in seconds:',
    ...slowest.map(({ file, ms }) => `#   ${(ms / 1000).toFixed(1).padStart(6)}  ${file}`),
  ];
}

/** Returns the output of both runs of each flaky file, and a table of these files. */
export function flakyLines(flaky: readonly Flaky[]): string[] {
  if (flaky.length === 0) return ['# Flaky files: none'];
  const outputs = flaky.flatMap(({ file, first, second }) => [
    `# Flaky: ${file}. Its first run:`,
    ...first.map((line) => INDENT + line),
    `# Flaky: ${file}. Its second run:`,
    ...second.map((line) => INDENT + line),
  ]);
  const table = flaky.map(({ file, first }) => `#   ${file}  ${first[0] ?? ''}`);
  return [...outputs, `# Flaky files: ${flaky.length}`, ...table];
}

/** Returns the lines of all failed tests. */
export function failureLines(results: ReadonlyMap<string, FileResult>): string[] {
  const lines = [...results.values()].flatMap(({ failures }) => failures.flat());
  return lines.length === 0 ? [] : ['# The failed tests again:', ...lines];
}
