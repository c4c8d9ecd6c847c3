import { setTimeout as sleep } from 'node:timers/promises';
import { makeAccount } from '../helpers/account.ts';
import { batchesOf } from '../helpers/batches.ts';
import type { Stack } from '../helpers/stack.ts';
import { measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

/** Milliseconds between requests for the state of a batch, as those of a stream of its events. */
const POLL_MS = 1000;

export interface BatchesRow {
  /** hash-text calls per second of synchronous callers. */
  calls: number;
  /** Rows per second of a batch of hash-text, from the request to the end of the batch. */
  rows: number;
  /** rows / calls, of the median round. */
  ratio: number;
}

/**
 * Compares a batch of hash-text with synchronous callers. The runs alternate, so that other load on the machine affects both
 * alike.
 */
export async function benchBatches(
  stack: Stack,
  { rounds, rows, concurrency, calls }: Sizes['batches'],
): Promise<BatchesRow> {
  const account = await makeAccount(stack, 10_000_000);
  const batches = batchesOf(account, stack.baseUrl);
  const call = async (index: number) => {
    const response = await account.call('hash-text', { text: `bench ${index}` });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const runBatch = async (): Promise<number> => {
    const inputs = Array.from({ length: rows }, (_, i) => ({ text: `bench ${i}` }));
    const began = Date.now();
    const { id } = await batches.create({ tool: 'hash-text', inputs });
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
