import { globSync } from 'node:fs';

/** Faults, load, random input and the corpus of pages: `npm run test:slow`. */
const SLOW = /^test\/(?:chaos|load|fuzz|browser)\//;
/** Files that use both cores by themselves run one at a time, after the others. */
const SERIAL =
  /^test\/(?:load|chaos|fuzz|browser|dashboard)\/|screenshot|html-to-image|image-upscale|word-to-pdf|smtp-test/;

export interface Suite {
  files: string[];
  /** Test files that run at the same time. */
  concurrency: number;
}

/** Files run at the same time: the two cores that the time of a whole run is measured on. */
const PARALLEL = 2;

/** The test files of `npm test` or of `npm run test:slow`, in the order in which they run. */
export function suites(slow: boolean): Suite[] {
  const files = globSync('test/**/*.test.ts')
    .sort()
    .filter((file) => SLOW.test(file) === slow);
  return [
    { files: files.filter((file) => !SERIAL.test(file)), concurrency: PARALLEL },
    { files: files.filter((file) => SERIAL.test(file)), concurrency: 1 },
  ].filter((suite) => suite.files.length > 0);
}
