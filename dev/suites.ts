import { globSync } from 'node:fs';

/**
 * Matches the test files of `npm run test:slow`: fault injection, load, random input, the page corpus, the client packages,
 * the dashboard in a browser, and files that go deeper into one topic of a tool or of the deployment
 * (`tool.topic.test.ts`).
 */
const SLOW =
  /^test\/(?:(?:chaos|load|fuzz|browser|clients|dashboard)\/|(?:tools|deploy)\/[\w-]+\.[\w-]+\.test\.ts$)/;
/**
 * Matches test files that render pages, enlarge images or measure time. They cause so much load that only few of them
 * run at the same time, and no light test file.
 */
const HEAVY =
  /^test\/(?:load|chaos|fuzz|browser|clients|dashboard)\/|screenshot|picture-options|html-to-image|image-upscale|word-to-pdf|smtp-test|\.testssl\./;
/** Matches heavy test files that need the whole machine, because they wait for queues to grow or to become empty. */
const ALONE = /^test\/load\//;
/**
 * Test files whose number of random cases an environment variable sets. `npm test` runs few cases, and `npm run
 * test:slow` runs the files again with these numbers.
 */
const SAMPLED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'test/store/ledger.test.ts': { TEST_SEQUENCE_LENGTH: '3' },
  'test/store/ledger.property.test.ts': { TEST_OPERATIONS: '50000' },
  'test/store/keySpend.property.test.ts': { TEST_BUDGET_OPERATIONS: '20000' },
  'test/store/ledger.schedules.test.ts': { TEST_SCHEDULES: '1000' },
};

/** Number of light test files that run at the same time on two cores. The third uses the time in which the others wait. */
const LIGHT_CONCURRENCY = 3;
/** The same for heavy files, which wait most of the time: one at a time uses a third of two cores. */
const HEAVY_CONCURRENCY = 2;

export interface Suite {
  files: string[];
  /** Number of test files that run at the same time. */
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
    files: files.filter((file) => HEAVY.test(file) && !ALONE.test(file)),
    concurrency: HEAVY_CONCURRENCY,
    env: {},
  };
  const alone = { files: files.filter((file) => ALONE.test(file)), concurrency: 1, env: {} };
  const full = {
    files: slow ? Object.keys(SAMPLED) : [],
    concurrency: 1,
    env: Object.assign({}, ...Object.values(SAMPLED)),
  };
  return [light, heavy, alone, full].filter((suite) => suite.files.length > 0);
}
