import { globSync, readFileSync } from 'node:fs';

/**
 * Matches the test files of the slow tier: fault injection, load, random input, the corpus of pages, the client packages, short
 * runs of the benchmark and the comparisons, and files about one topic of a tool, of the dashboard, of the deployment or of the
 * schedules (`tool.topic.test.ts`).
 */
const SLOW =
  /^test\/(?:(?:chaos|load|fuzz|browser|clients|bench|quality|attack)\/|(?:tools|dashboard|deploy|schedules)\/[\w-]+(?:\.[\w-]+)+\.test\.ts$)/;
/** Matches the source of a test file that starts servers or a stack of its own, which makes it a slow one too. */
const OWN_SERVERS = /\b(?:startStack|startOwnServers|startServers|startCopy)\(/;
/** Matches the source of a test file of a tool that starts browsers of its own; the contract test calls these tools too. */
const OWN_BROWSERS = /\bopenBrowsers\(/;
/**
 * Matches slow test files that render pages or stop processes. They cause so much load that only few of them run at the same
 * time, and no light test file.
 */
const HEAVY =
  /^test\/(?:(?:load|chaos|fuzz|browser|clients|bench|quality|attack)\/|tools\/(?:(?:website-screenshot|html-to-image|picture-options)\.|(?:word-to-pdf|smtp-test|\S+\.testssl)\.\S+\.test)|\S+\.browser\.)/;
/**
 * Matches heavy test files that need the whole machine: they wait for queues to grow or to become empty, or use several stacks
 * beside each other.
 */
const ALONE = /^test\/(?:load|bench|attack)\//;
/**
 * Test files whose number of random cases an environment variable sets. The quick tier runs few cases, and the slow tier runs
 * the files again with these numbers.
 */
const SAMPLED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'test/store/ledger.test.ts': { TEST_SEQUENCE_LENGTH: '3' },
  'test/store/ledger.property.test.ts': { TEST_OPERATIONS: '50000' },
  'test/store/keySpend.property.test.ts': { TEST_BUDGET_OPERATIONS: '20000' },
  'test/store/ledger.schedules.test.ts': { TEST_SCHEDULES: '1000' },
  'test/schedules/calls.test.ts': { TEST_CALL_SCHEDULES: '20000' },
};

/** Number of light test files that run at the same time on two cores. Two of them use the time in which the others wait. */
const LIGHT_CONCURRENCY = 4;
/** The same for heavy files, which wait most of the time: one at a time uses a third of two cores. */
const HEAVY_CONCURRENCY = 2;
/** The same for files of random cases, each of which computes in one process. */
const SAMPLED_CONCURRENCY = 2;

/** Test files that run together. */
export interface Suite {
  files: string[];
  /** Number of test files that run at the same time. */
  concurrency: number;
  /** Environment variables for the tests. */
  env: Readonly<Record<string, string>>;
}

const startsMuch = (file: string, source: string): boolean =>
  OWN_SERVERS.test(source) || (file.startsWith('test/tools/') && OWN_BROWSERS.test(source));

/** Whether the slow tier runs a file. The quick tier runs all others. */
const isSlow = (file: string): boolean => SLOW.test(file) || startsMuch(file, readFileSync(file, 'utf8'));

/** Returns the test files of the quick tier (`npm test`) or of the slow tier (`npm run test:slow`), sorted. */
export const filesOf = (slow: boolean): string[] =>
  globSync('test/**/*.test.ts')
    .sort()
    .filter((file) => isSlow(file) === slow);

/** Returns the files of the quick tier that the slow tier runs with more random cases. */
export const sampledFiles = (): string[] => Object.keys(SAMPLED);

/** Divides test files into suites, in the order in which they run. @param sampled files to run with more random cases */
export function suitesOf(files: readonly string[], sampled: readonly string[] = []): Suite[] {
  const light = files.filter((file) => !HEAVY.test(file));
  const heavy = files.filter((file) => HEAVY.test(file) && !ALONE.test(file));
  const alone = files.filter((file) => ALONE.test(file));
  const env = Object.assign({}, ...sampled.map((file) => SAMPLED[file]));
  return [
    { files: light, concurrency: LIGHT_CONCURRENCY, env: {} },
    { files: heavy, concurrency: HEAVY_CONCURRENCY, env: {} },
    { files: alone, concurrency: 1, env: {} },
    { files: [...sampled], concurrency: SAMPLED_CONCURRENCY, env },
  ].filter((suite) => suite.files.length > 0);
}
