import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Call,
  type Flood,
  flood,
  HASH,
  logged,
  longestAttempt,
  longFloods,
  startTarget,
} from '../attack/floods.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { type Stack, type StackOptions, startStack } from '../helpers/stack.ts';
import type { Sizes } from './sizes.ts';

/** Factor by which the allowed delay increases when several accounts flood the pool instead of one. */
const SEVERAL = 4;
/** A row ends after this many seconds even if fewer calls were made. */
const LONGEST_ROW_S = 120;
/** Milliseconds that the other account waits after a refused call. */
const REFUSED_MS = 1000;

/** A flood of the benchmark. @see Flood */
type Scenario = Omit<Flood, 'flooders'> & {
  /** Numbers of flooding accounts to measure. Default: those of the sizes. */
  flooders?: readonly number[];
};

interface FairnessRow {
  pool: string;
  flood: string;
  flooders: number;
  /** Calls that each flooding account keeps open. */
  concurrency: number;
  /** p95 of the other account's calls without a flood, in milliseconds. */
  idle: number;
  /** Duration of the longest attempt of a flooding call on the worker, in milliseconds. */
  longestJob: number;
  /** Percentiles of the other account's calls during the flood, in milliseconds. */
  p50: number;
  p95: number;
  max: number;
  /** Highest allowed p95 of the other account's calls during the flood, in milliseconds. */
  limit: number;
  /** Number of calls that the other account made, and how many of them did not return 200. */
  calls: number;
  refused: number;
  /** Number of the other account's calls that were answered with 503. */
  unavailable: number;
  /** Successful calls of the flooding accounts per second. */
  floodPerSecond: number;
}

async function callSequentially(account: TestAccount, { tool, body }: Call, count: number) {
  const durations: number[] = [];
  let refused = 0;
  let unavailable = 0;
  const end = performance.now() + LONGEST_ROW_S * 1000;
  for (let i = 0; i < count && performance.now() < end; i++) {
    const start = performance.now();
    const response = await account.call(tool, body);
    const text = await response.text();
    durations.push(performance.now() - start);
    if (response.status === 200) continue;
    refused++;
    if (response.status === 503) unavailable++;
    console.error(text);
    await sleep(REFUSED_MS);
  }
  durations.sort((a, b) => a - b);
  const at = (quantile: number) =>
    durations[Math.min(durations.length - 1, Math.floor(durations.length * quantile))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), max: at(1), calls: durations.length, refused, unavailable };
}

/** Returns the milliseconds of each phase of an account's slowest call since a time, from the API's log. */
async function slowestPhases(stack: Stack, accountId: string, since: number): Promise<unknown> {
  let slowest: Record<string, unknown> = { ms: 0 };
  for await (const record of logged(stack, 'api', since))
    if (record.account === accountId && Number(record.ms) > Number(slowest.ms)) slowest = record;
  return slowest.phases;
}

async function run(
  stack: Stack,
  scenario: Scenario,
  flooders: number,
  sizes: Sizes['fairness'],
): Promise<FairnessRow> {
  const { pool, other, concurrency = sizes.concurrency } = scenario;
  const { tool, body } = scenario.flood;
  const account = await makeAccount(stack, 1_000_000);
  await callSequentially(account, other, sizes.calls);
  const idle = await callSequentially(account, other, sizes.calls);
  const accounts = await Promise.all(Array.from({ length: flooders }, () => makeAccount(stack, 1_000_000)));
  const over = new AbortController();
  const since = Date.now();
  const floods = Promise.all(
    accounts.map((each) => flood(() => each.call(tool, body), concurrency, over.signal)),
  );
  await sleep(sizes.fillMs);
  const during = await callSequentially(account, other, sizes.calls);
  over.abort();
  // Waits for the queued calls to end, so that the next row starts with an idle pool.
  const done = (await floods).reduce((sum, each) => sum + each, 0);
  const seconds = (Date.now() - since) / 1000;
  const longestJob = (await longestAttempt(stack, scenario, since)) ?? 0;
  console.error('slowest call, ms of its phases:', await slowestPhases(stack, account.accountId, since));
  return {
    pool,
    flood: scenario.flood.tool,
    flooders,
    concurrency,
    idle: idle.p95,
    longestJob,
    ...during,
    limit: (idle.p95 + longestJob) * (flooders === 1 ? 1 : SEVERAL),
    floodPerSecond: done / seconds,
  };
}

/**
 * Measures how long the cheapest calls of an account take while other accounts flood the pool, with the default limits.
 * Each row uses a new stack.
 */
export async function benchFairness(
  servers: StackOptions['servers'],
  sizes: Sizes['fairness'],
): Promise<FairnessRow[]> {
  using target = await startTarget();
  const at = (path: string) => `${target.url}${path}`;
  const scenarios: Scenario[] = [
    {
      pool: 'cpu',
      flood: { tool: 'bcrypt-hash', body: { password: 'bench', workFactor: 14 } },
      other: HASH,
    },
    { pool: 'cpu', flood: HASH, other: HASH },
    {
      pool: 'network',
      flood: { tool: 'http-request', body: { url: at('/slow') } },
      other: { tool: 'http-request', body: { url: at('/') } },
    },
    {
      pool: 'heavy',
      flood: { tool: 'image-upscale', body: { fileUrl: at('/big') } },
      other: { tool: 'image-upscale', body: { fileUrl: at('/') } },
    },
    {
      pool: 'browser',
      flood: { tool: 'html-to-image', body: { html: '<h1>Flood</h1>' } },
      other: { tool: 'html-to-image', body: { html: '<h1>Hi</h1>' } },
    },
    ...Object.values(longFloods(target.url)).map((flood) => ({ ...flood, flooders: [flood.flooders] })),
  ];
  const chosen = scenarios.filter(
    ({ pool, flood: { tool } }) =>
      sizes.only.length === 0 || sizes.only.includes(pool) || sizes.only.includes(tool),
  );
  const rows: FairnessRow[] = [];
  for (const scenario of chosen)
    for (const flooders of scenario.flooders ?? sizes.flooders) {
      // Log level `info`, because the durations of attempts are read from the log.
      const env = { RATE_LIMIT: '20:40', LOG_LEVEL: 'info', EGRESS_ALLOW: `127.0.0.1:${target.port}` };
      const pools = ['orchestrator', 'delivery', scenario.pool];
      const stack = await startStack({ ...(servers ? { servers } : {}), env, pools });
      try {
        rows.push(await run(stack, scenario, flooders, sizes));
        console.error(rows.at(-1));
      } finally {
        await stack.stop();
      }
    }
  return rows;
}
