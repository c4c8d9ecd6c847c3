import { BROWSERS } from '../../activities/browser/resource.ts';
import { laneSlots } from '../../workers/pools.ts';

const { env } = process;
/** Number of rounds; the median of the rounds is reported. */
const rounds = Number(env.BENCH_ROUNDS ?? 3);

/** How much each section measures. */
export const FULL = {
  /** `restMs`: time after the start in which processes release the memory that only their start needed. */
  memory: { restMs: 60_000, calls: 320, concurrency: 32 },
  /** `calls`: of a round without concurrency, and of one with it for each concurrent caller. */
  calls: { rounds, concurrencies: [1, 8, 32], calls: { alone: 50, each: 8 }, warmUp: 10 },
  /** `rows`: of a batch; `calls`: of all synchronous callers of a round. */
  batches: { rounds, rows: 3000, concurrency: 32, calls: 320 },
  /** As `batches`, of a tool that starts a browser. */
  browserBatches: { rounds, rows: 48, concurrency: 32, calls: 48 },
  /** Numbers of rows of batches; `warmUp`: of one before, after which the processes have the memory that a busy time needs. */
  batchSize: { warmUp: 5000, few: 100, many: Number(env.BENCH_ROWS ?? 20_000) },
  /** `rows`: of a batch, which must last longer than the `calls` of the other account. */
  besideBatch: { rounds, rows: 15_000, calls: 100 },
  callbacks: { jobs: 200, concurrency: 4 },
  mcp: { rounds, calls: 100 },
  /** `pages`: number of pages. */
  site: { rounds: 1, pages: Number.POSITIVE_INFINITY },
  /** `share`: of the calls of each tool. */
  capacity: { share: 1, warmUp: 8, idleMs: 20_000 },
  /** `accounts` share the calls, so that no single account limits them; `concurrency` is enough to use all cores. */
  model: {
    calls: Number(env.BENCH_MODEL_CALLS ?? 500),
    ...{ warmUp: 400, concurrency: 32, accounts: 16, idleMs: 20_000 },
  },
  /**
   * `flooders`: numbers of flooding accounts, each with a row; `only`: pools or flooding tools to measure, if any are given;
   * `calls`: of the other account; `concurrency`: open calls of a flooding account, by default the limit of running calls of
   * an account in one pool; `fillMs`: time between the start of the flood and the first measured call, in which the queue fills.
   */
  fairness: {
    flooders: (env.BENCH_FLOODERS ?? '1').split(',').map(Number),
    only: env.BENCH_FAIRNESS?.split(',') ?? [],
    calls: Number(env.BENCH_FAIRNESS_CALLS ?? 20),
    ...{ concurrency: 64, fillMs: 3000 },
  },
  start: { rounds },
  /**
   * `loads`: numbers of accounts, and of pairs at a time. An account can have 256 running calls: 64 in each pool. A rate that
   * `isGoal` uses all cores; at 32 at a time, the disk's answers limit it.
   */
  ledger: {
    loads: [
      { accounts: 1, concurrency: 32, isGoal: false },
      { accounts: 1, concurrency: 256, isGoal: true },
      { accounts: 1000, concurrency: 32, isGoal: false },
      { accounts: 1000, concurrency: 1000, isGoal: true },
    ],
    pairs: 8000,
  },
  hashes: { rounds, runs: 3 },
  network: { rounds, requests: 30, warmUp: 20, scrapes: 20, vets: 50_000 },
  /** `slots`: pings at the same time. */
  ping: { slots: laneSlots('network', null).first },
  /** `answerMs`: time that each target takes. */
  links: { rounds, answerMs: 200 },
  /**
   * `seconds`: of a run; `runs`: in which a rate must be sustained one after the other, because single runs near the machine's
   * limit vary; `pairs`: of runs that measure the isolation; `firstRate`, `lastRate`: deliveries per second; `p99Ms`: largest p99
   * of the delivery delay at which a rate counts as sustained.
   */
  webhooks: {
    ...{ endpoints: 10, seconds: 8, runs: 1, pairs: 2, p99Ms: 1000 },
    ...{ firstRate: 300, lastRate: Number.POSITIVE_INFINITY },
  },
  /** `large`, `small`: widths in pixels of the images to watermark and to enlarge. */
  images: { rounds, runs: 3, large: 4000, small: 512 },
  /** `apart`: rounds with one document are repeated more often by this factor, because their durations vary more. */
  office: { rounds, apart: 3, inSuccession: 8, atOnce: 16, pauseMs: 4000 },
  /** `pages`: number of pages; `feeds`: captures of an endless page. */
  browser: { rounds, pages: 2, runs: 10, warmUp: 2 * BROWSERS, concurrencies: [1, 4], feeds: 3 },
  /** `calls`: of the account with many calls; `requests`: of a page, enough for a reliable p95. */
  pages: { calls: Number(env.BENCH_PAGES ?? 100_000), requests: 100 },
  /** `few`, `many`: earlier calls of the two accounts that are compared. */
  history: { rounds, few: 1000, many: Number(env.BENCH_HISTORY ?? 200_000), requests: 20 },
};

export type Sizes = typeof FULL;

/** Sizes with which each section runs once in seconds, to show that it works. The figures mean nothing. */
export const SHORT: Sizes = {
  memory: { restMs: 0, calls: 4, concurrency: 2 },
  calls: { rounds: 1, concurrencies: [1], calls: { alone: 3, each: 1 }, warmUp: 1 },
  batches: { rounds: 1, rows: 20, concurrency: 2, calls: 4 },
  browserBatches: { rounds: 1, rows: 4, concurrency: 2, calls: 2 },
  batchSize: { warmUp: 2, few: 2, many: 20 },
  besideBatch: { rounds: 1, rows: 3000, calls: 3 },
  callbacks: { jobs: 6, concurrency: 2 },
  mcp: { rounds: 1, calls: 2 },
  site: { rounds: 1, pages: 1 },
  capacity: { share: 0.02, warmUp: 1, idleMs: 200 },
  model: { calls: 64, warmUp: 8, concurrency: 8, accounts: 2, idleMs: 200 },
  fairness: { flooders: [1], only: ['hash-text'], calls: 3, concurrency: 4, fillMs: 100 },
  start: { rounds: 1 },
  ledger: {
    loads: [
      { accounts: 1, concurrency: 4, isGoal: true },
      { accounts: 4, concurrency: 4, isGoal: false },
    ],
    pairs: 20,
  },
  hashes: { rounds: 1, runs: 1 },
  network: { rounds: 1, requests: 2, warmUp: 1, scrapes: 2, vets: 10 },
  ping: { slots: 2 },
  links: { rounds: 1, answerMs: 1 },
  webhooks: {
    ...{ endpoints: 2, seconds: 1, runs: 1, pairs: 1, p99Ms: Number.POSITIVE_INFINITY },
    ...{ firstRate: 4, lastRate: 4 },
  },
  images: { rounds: 1, runs: 1, large: 1600, small: 32 },
  office: { rounds: 1, apart: 1, inSuccession: 1, atOnce: 4, pauseMs: 0 },
  browser: { rounds: 1, pages: 1, runs: 1, warmUp: 0, concurrencies: [1], feeds: 1 },
  pages: { calls: 50, requests: 2 },
  history: { rounds: 1, few: 10, many: 50, requests: 1 },
};
