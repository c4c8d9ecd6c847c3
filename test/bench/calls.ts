import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { makeAccount } from '../helpers/account.ts';
import type { Stack } from '../helpers/stack.ts';
import { type Measured, measure } from './measure.ts';

const QUEUE = 'bench';

export interface CallsRow {
  atOnce: number;
  bare: Measured;
  call: Measured;
  /** Ours by the bare workflow's. */
  latency: number;
  throughput: number;
}

/**
 * A whole HTTP call of hash-text beside a bare one-activity workflow on the same server, in turns of one minute's work
 * or less, so that what else the machine does falls on both.
 */
export async function benchCalls(stack: Stack, rounds: number): Promise<CallsRow[]> {
  await using open = new AsyncDisposableStack();
  const native = open.adopt(await NativeConnection.connect({ address: stack.temporalAddress }), (it) =>
    it.close(),
  );
  const worker = await Worker.create({
    connection: native,
    namespace: stack.namespace,
    taskQueue: QUEUE,
    workflowsPath: fileURLToPath(new URL('./bareWorkflow.ts', import.meta.url)),
    activities: { noop: async () => 'done' },
  });
  const running = worker.run();
  open.defer(async () => {
    worker.shutdown();
    await running;
  });
  const connection = open.adopt(await Connection.connect({ address: stack.temporalAddress }), (it) =>
    it.close(),
  );
  const client = new Client({ connection, namespace: stack.namespace });
  const account = await makeAccount(stack, 1_000_000);

  const bare = () =>
    client.workflow.execute('bare', { taskQueue: QUEUE, workflowId: `bare-${crypto.randomUUID()}` });
  const call = async (index: number) => {
    const response = await account.call('hash-text', { text: `bench ${index}` });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };

  const rows: CallsRow[] = [];
  for (const atOnce of [1, 8, 32]) {
    await measure(10, atOnce, bare);
    await measure(10, atOnce, call);
    const runs: { bare: Measured; call: Measured }[] = [];
    for (let round = 0; round < rounds; round++) {
      const times = atOnce === 1 ? 50 : atOnce * 8;
      runs.push({ bare: await measure(times, atOnce, bare), call: await measure(times, atOnce, call) });
    }
    const median = (of: (run: (typeof runs)[number]) => number) =>
      runs.map(of).sort((a, b) => a - b)[Math.floor(runs.length / 2)] ?? Number.NaN;
    const side = (name: 'bare' | 'call'): Measured => ({
      p50: median((run) => run[name].p50),
      p95: median((run) => run[name].p95),
      perSecond: median((run) => run[name].perSecond),
    });
    rows.push({
      atOnce,
      bare: side('bare'),
      call: side('call'),
      latency: median((run) => run.call.p50 / run.bare.p50),
      throughput: median((run) => run.call.perSecond / run.bare.perSecond),
    });
  }
  return rows;
}
