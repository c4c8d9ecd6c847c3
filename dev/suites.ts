import { globSync } from 'node:fs';

/** Tests of `npm run test:slow`: faults, load, random input and the page corpus. */
const SLOW = /^test\/(?:chaos|load|fuzz|browser)\//;
/** Test files that render pages, enlarge images or time a program: too much load for the others to run beside them. */
const HEAVY =
  /^test\/(?:load|chaos|fuzz|browser|dashboard)\/|screenshot|picture-options|html-to-image|image-upscale|word-to-pdf|smtp-test/;
/**
 * Test files with a number of random cases that an environment variable sets. `npm test` runs a sample, and
 * `npm run test:slow` runs the files again with these numbers.
 */
const SAMPLED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'test/store/ledger.test.ts': { TEST_SEQUENCE_LENGTH: '3' },
  'test/store/ledger.property.test.ts': { TEST_OPERATIONS: '50000' },
  'test/store/ledger.schedules.test.ts': { TEST_SCHEDULES: '1000' },
};

/** Light test files that run at the same time, for the two-core machine on which the duration of a full run is measured. */
const LIGHT_CONCURRENCY = 2;

export interface Suite {
  files: string[];
  /** Test files that run at the same time. */
  concurrency: number;
  /** Environment variables for the tests. */
  env: Readonly<Record<string, string>>;
}

/** Returns the test files of `npm test` or `npm run test:slow` in the order in which they run. */
export function suites(slow: boolean): Suite[] {
  const files = globSync('test/**/*.test.ts')
    .sort()
    .filter((file) => SLOW.test(file) === slow);
  const light = { files: files.filter((file) => !HEAVY.test(file)), concurrency: LIGHT_CONCURRENCY, env: {} };
  const heavy = {
    files: files.filter((file) => HEAVY.test(file)),
    concurrency: 1,
    env: {},
  };
  const full = {
    files: slow ? Object.keys(SAMPLED) : [],
    concurrency: 1,
    env: Object.assign({}, ...Object.values(SAMPLED)),
  };
  return [light, heavy, full].filter((suite) => suite.files.length > 0);
}
