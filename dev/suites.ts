import { globSync } from 'node:fs';

/** Tests of `npm run test:slow`: faults, load, random input and the page corpus. */
const SLOW = /^test\/(?:chaos|load|fuzz|browser)\//;
/** Test files that use both cores; they run one at a time, after the others. */
const SERIAL =
  /^test\/(?:load|chaos|fuzz|browser|dashboard)\/|screenshot|html-to-image|image-upscale|word-to-pdf|smtp-test/;

export interface Suite {
  files: string[];
  /** Test files that run at the same time. */
  concurrency: number;
}

/** Concurrent test files, for the two-core machine on which the duration of a full run is measured. */
const PARALLEL = 2;

/** Returns the test files of `npm test` or `npm run test:slow` in the order in which they run. */
export function suites(slow: boolean): Suite[] {
  const files = globSync('test/**/*.test.ts')
    .sort()
    .filter((file) => SLOW.test(file) === slow);
  return [
    { files: files.filter((file) => !SERIAL.test(file)), concurrency: PARALLEL },
    { files: files.filter((file) => SERIAL.test(file)), concurrency: 1 },
  ].filter((suite) => suite.files.length > 0);
}
