import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { listen } from '../helpers/egress.ts';
import { isRecord } from '../helpers/json.ts';
import { makeDocx } from '../helpers/office.ts';
import { type Stack, type StackOptions, startStack } from '../helpers/stack.ts';
import type { Sizes } from './sizes.ts';

/** Factor by which the allowed delay increases when several accounts flood the pool instead of one. */
const SEVERAL = 4;
/** A row ends after this many seconds even if fewer calls were made. */
const LONGEST_ROW_S = 120;
/** Milliseconds that a flooding account waits after a refused call without a `Retry-After` header. */
const REFUSED_MS = 1000;
/** Milliseconds after which the slow target of http-request responds. */
const TARGET_MS = 2000;
/** Milliseconds for which the script of the busy page runs. */
const BUSY_MS = 10_000;
/** Depth of the tables in the nested document, which LibreOffice converts in seconds. */
const TABLES = 60;
/** An argon2 hash whose verification takes a core for about a second; it need not match. */
const SLOW_HASH = '$argon2id$v=19$m=65536,t=16,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';

interface Call {
  tool: string;
  body: Record<string, unknown>;
}

interface Scenario {
  pool: string;
  flood: Call;
  /** The cheapest call of the pool, which the other account makes. */
  other: Call;
  /** Calls that each flooding account keeps open. Default: that of the sizes. */
  concurrency?: number;
  /** Numbers of flooding accounts to measure. Default: those of the sizes. */
  flooders?: readonly number[];
}

export interface FairnessRow {
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

/** Keeps this many calls open until the signal aborts. @returns the number of successful calls */
async function flood(
  account: TestAccount,
  { tool, body }: Call,
  concurrency: number,
  signal: AbortSignal,
): Promise<number> {
  let done = 0;
  const loop = async () => {
    while (!signal.aborted) {
      const response = await account.call(tool, body);
      await response.arrayBuffer();
      if (response.status === 200) done++;
      else {
        const after = Number(response.headers.get('Retry-After')) * 1000 || REFUSED_MS;
        await sleep(after, undefined, { signal }).catch(() => undefined);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  return done;
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
    durations[Math.min(durations.length - 1, Math.floor(durations.length * quantile))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), max: at(1), calls: durations.length, refused, unavailable };
}

/** Reads the records that a process of the stack has logged since a time. */
async function* logged(stack: Stack, name: string, since: number): AsyncGenerator<Record<string, unknown>> {
  const lines = createInterface({ input: createReadStream(join(stack.dataDir, 'logs', `${name}.log`)) });
  for await (const line of lines) {
    if (!line.startsWith('{')) continue;
    const record: unknown = JSON.parse(line);
    if (!isRecord(record)) continue;
    const at = new Date(typeof record.time === 'number' ? record.time : String(record.time)).getTime();
    if (at >= since) yield record;
  }
}

/**
 * Returns the duration in milliseconds of the flooding tool's longest attempt since a time, from the worker's log. Attempts
 * that end at their time limit count too.
 */
async function longestAttempt(stack: Stack, { pool, flood: { tool } }: Scenario, since: number) {
  let longest = 0;
  for await (const record of logged(stack, pool, since))
    if (record.tool === tool && record.outcome !== 'cancelled')
      longest = Math.max(longest, Number(record.ms));
  return longest;
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
  const account = await makeAccount(stack, 1_000_000);
  await callSequentially(account, other, sizes.calls);
  const idle = await callSequentially(account, other, sizes.calls);
  const accounts = await Promise.all(Array.from({ length: flooders }, () => makeAccount(stack, 1_000_000)));
  const over = new AbortController();
  const since = Date.now();
  const floods = Promise.all(accounts.map((each) => flood(each, scenario.flood, concurrency, over.signal)));
  await sleep(sizes.fillMs);
  const during = await callSequentially(account, other, sizes.calls);
  over.abort();
  // Waits for the queued calls to end, so that the next row starts with an idle pool.
  const done = (await floods).reduce((sum, each) => sum + each, 0);
  const seconds = (Date.now() - since) / 1000;
  const longestJob = await longestAttempt(stack, scenario, since);
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
  await using open = new AsyncDisposableStack();
  const picture = await sharp({ create: { width: 16, height: 16, channels: 3, background: '#c43' } })
    .png()
    .toBuffer();
  const big = await sharp({ create: { width: 256, height: 256, channels: 3, background: '#c43' } })
    .png()
    .toBuffer();
  const paragraph = '<w:p><w:r><w:t>Text</w:t></w:r></w:p>';
  const document = makeDocx({ body: paragraph });
  const nestedDocument = makeDocx({
    body: `${'<w:tbl><w:tr><w:tc>'.repeat(TABLES)}${paragraph}${`${paragraph}</w:tc></w:tr></w:tbl>`.repeat(TABLES)}`,
  });
  const target = createServer(({ url = '' }, response) => {
    const answer = () => {
      response.setHeader('Content-Type', 'image/png');
      response.end(url === '/big' ? big : picture);
    };
    if (url === '/silent') return;
    if (url === '/slow') setTimeout(answer, TARGET_MS);
    else if (url === '/busy')
      response
        .setHeader('Content-Type', 'text/html')
        .end(`<h1>Busy</h1><script>for (const end = Date.now() + ${BUSY_MS}; Date.now() < end; );</script>`);
    else if (url.endsWith('.docx')) response.end(url === '/nested.docx' ? nestedDocument : document);
    else answer();
  });
  const port = await listen(target);
  open.defer(() => {
    target.close();
    target.closeAllConnections();
  });
  const at = (path: string) => `http://127.0.0.1:${port}${path}`;
  const hash: Call = { tool: 'hash-text', body: { text: 'bench' } };
  const scenarios: Scenario[] = [
    {
      pool: 'cpu',
      flood: { tool: 'bcrypt-hash', body: { password: 'bench', workFactor: 14 } },
      other: hash,
    },
    { pool: 'cpu', flood: hash, other: hash },
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
    // Floods of long calls, some of which end at their time limit and cost nothing.
    {
      pool: 'heavy',
      flood: { tool: 'word-to-pdf', body: { fileUrl: at('/nested.docx') } },
      other: { tool: 'word-to-pdf', body: { fileUrl: at('/short.docx') } },
      concurrency: 3,
      flooders: [1],
    },
    {
      pool: 'browser',
      flood: { tool: 'website-screenshot', body: { url: at('/busy') } },
      other: { tool: 'html-to-image', body: { html: '<h1>Hi</h1>' } },
      flooders: [1],
    },
    {
      pool: 'cpu',
      flood: { tool: 'argon2-verify', body: { password: 'bench', hash: SLOW_HASH } },
      other: hash,
      flooders: [1],
    },
    {
      pool: 'network',
      flood: { tool: 'http-request', body: { url: at('/silent') } },
      other: { tool: 'http-request', body: { url: at('/') } },
      flooders: [2],
    },
  ];
  const chosen = scenarios.filter(
    ({ pool, flood: { tool } }) =>
      sizes.only.length === 0 || sizes.only.includes(pool) || sizes.only.includes(tool),
  );
  const rows: FairnessRow[] = [];
  for (const scenario of chosen)
    for (const flooders of scenario.flooders ?? sizes.flooders) {
      // Log level `info`, because the durations of attempts are read from the log.
      const env = { RATE_LIMIT: '20:40', LOG_LEVEL: 'info', EGRESS_ALLOW: `127.0.0.1:${port}` };
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
