import { setTimeout as sleep } from 'node:timers/promises';
import pMap from 'p-map';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { workflowIds } from '../../workflows/contract.ts';
import { makeAccount } from '../helpers/account.ts';
import { batchesOf } from '../helpers/batches.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { recordAt } from '../helpers/json.ts';
import { startReceiver } from '../helpers/receiver.ts';
import type { Stack } from '../helpers/stack.ts';
import { measure } from './measure.ts';
import { memoryOf } from './memory.ts';
import type { Sizes } from './sizes.ts';

/** Milliseconds between requests for the state of a batch, as those of a stream of its events. */
const POLL_MS = 1000;

/** A tool, and its input for the call or row of this number. */
interface BatchTool {
  tool: string;
  input(index: number): Record<string, unknown>;
}

export const HASH: BatchTool = { tool: 'hash-text', input: (index) => ({ text: `bench ${index}` }) };
export const PICTURE: BatchTool = {
  tool: 'html-to-image',
  input: (index) => ({ html: `<h1>bench ${index}</h1>`, width: 640, height: 480 }),
};

interface BatchesRow {
  /** Calls per second of synchronous callers. */
  calls: number;
  /** Rows per second of a batch, from the request to the end of the batch. */
  rows: number;
  /** rows / calls, of the median round. */
  ratio: number;
}

/**
 * Compares a batch with synchronous callers of its tool. The runs alternate, so that other load on the machine affects both
 * alike.
 */
export async function benchBatches(
  stack: Stack,
  { tool, input }: BatchTool,
  { rounds, rows, concurrency, calls }: Sizes['batches'],
): Promise<BatchesRow> {
  const account = await makeAccount(stack, 10_000_000);
  const batches = batchesOf(account, stack.baseUrl);
  const call = async (index: number) => {
    const response = await account.call(tool, input(index));
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const runBatch = async (): Promise<number> => {
    const inputs = Array.from({ length: rows }, (_, i) => input(i));
    const began = Date.now();
    const { id } = await batches.create({ tool, inputs });
    for (;;) {
      const { counts, endedAt } = await batches.get(id);
      if (endedAt !== null && counts.charged === rows) return (rows * 1000) / (Date.parse(endedAt) - began);
      if (endedAt !== null) throw new Error(`${counts.charged} of ${rows} rows were charged`);
      await sleep(POLL_MS);
    }
  };
  await measure(concurrency, concurrency, call);
  await runBatch();
  const runs: BatchesRow[] = [];
  for (let round = 0; round < rounds; round++) {
    const { perSecond } = await measure(calls, concurrency, call);
    const rowsPerSecond = await runBatch();
    runs.push({ calls: perSecond, rows: rowsPerSecond, ratio: rowsPerSecond / perSecond });
  }
  runs.sort((a, b) => a.ratio - b.ratio);
  return runs[Math.floor(runs.length / 2)] ?? { calls: Number.NaN, rows: Number.NaN, ratio: Number.NaN };
}

/** What a batch needs. */
interface BatchSizeRow {
  rows: number;
  /** Memory of all processes without Chromium, the most while it ran, in MB. */
  memory: number;
  /** Events of the longest history of the account's queue. */
  events: number;
}

/** Measures whether memory and histories depend on the number of rows of a batch. */
export async function benchBatchSize(
  stack: Stack,
  { warmUp, few, many }: Sizes['batchSize'],
): Promise<BatchSizeRow[]> {
  const env = readEnv(stack.env);
  const client = await connectClient(env, loadKeyring(env));
  await using open = new AsyncDisposableStack();
  open.defer(() => client.connection.close());
  async function run(rows: number): Promise<BatchSizeRow> {
    const account = await makeAccount(stack, 10_000_000);
    const batches = batchesOf(account, stack.baseUrl);
    const { id } = await batches.create({
      tool: HASH.tool,
      inputs: Array.from({ length: rows }, (_, i) => HASH.input(i)),
    });
    let memory = 0;
    for (let endedAt: string | null = null; endedAt === null; endedAt = (await batches.get(id)).endedAt) {
      memory = Math.max(memory, memoryOf(stack).sum ?? Number.NaN);
      await sleep(POLL_MS);
    }
    const workflowId = workflowIds.accountJobs(account.accountId);
    let events = 0;
    for await (const { runId } of client.workflow.list({ query: `WorkflowId = "${workflowId}"` })) {
      const { historyLength } = await client.workflow.getHandle(workflowId, runId).describe();
      events = Math.max(events, historyLength);
    }
    return { rows, memory, events };
  }
  await run(warmUp);
  return [await run(few), await run(many)];
}

const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

interface BesideRow {
  /** p95 of hash-text calls of an account, one after the other, in milliseconds: alone, and while a batch of another account runs. */
  idle: number;
  busy: number;
  /** busy / idle, of the median round. */
  ratio: number;
}

/** Measures how long the calls of an account take beside a running batch of another account. */
export async function benchBesideBatch(
  stack: Stack,
  { rounds, rows, calls }: Sizes['besideBatch'],
): Promise<BesideRow> {
  const [owner, other] = [await makeAccount(stack, 10_000_000), await makeAccount(stack, 10_000_000)];
  const batches = batchesOf(owner, stack.baseUrl);
  const call = async (index: number) => {
    const response = await other.call('hash-text', { text: `bench ${index}` });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const inputs = Array.from({ length: rows }, (_, i) => ({ text: `row ${i}` }));
  await measure(calls, 1, call);
  const runs: BesideRow[] = [];
  for (let round = 0; round < rounds; round++) {
    const { p95: idle } = await measure(calls, 1, call);
    const { id } = await batches.create({ tool: 'hash-text', inputs });
    const { p95: busy } = await measure(calls, 1, call);
    const { endedAt } = await batches.get(id);
    if (endedAt !== null) throw new Error('the batch ended before the calls: it needs more rows');
    await batches.cancel(id);
    await batches.reached(id);
    runs.push({ idle, busy, ratio: busy / idle });
  }
  return {
    idle: middle(runs.map((run) => run.idle)),
    busy: middle(runs.map((run) => run.busy)),
    ratio: middle(runs.map((run) => run.ratio)),
  };
}

/** Percentiles of the milliseconds from the end of a job to the arrival of its callback. */
interface CallbacksRow {
  p50: number;
  p95: number;
}

/** Measures how soon callbacks arrive, of jobs that a caller creates one after the other. */
export async function benchCallbacks(
  stack: Stack,
  { jobs: count, concurrency }: Sizes['callbacks'],
): Promise<CallbacksRow> {
  await using open = new AsyncDisposableStack();
  const receiver = open.adopt(await startReceiver(), (it) => it.close());
  const jobs = jobsOf(await makeAccount(stack, 10_000_000), stack.baseUrl);
  const run = async (index: number) => {
    const job = { tool: 'hash-text', input: { text: `bench ${index}` }, callbackUrl: receiver.url };
    await jobs.ended((await jobs.create(job)).id);
  };
  await pMap(Array.from({ length: count }).keys(), run, { concurrency });
  const delays = (await receiver.until(count))
    .map(({ at, body }) => at - Date.parse(String(recordAt(JSON.parse(body)).createdAt)))
    .sort((a, b) => a - b);
  const at = (quantile: number) => delays[Math.floor((delays.length - 1) * quantile)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95) };
}
