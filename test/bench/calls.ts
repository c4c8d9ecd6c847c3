import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { makeAccount } from '../helpers/account.ts';
import type { Stack } from '../helpers/stack.ts';
import { type Measured, measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

const QUEUE = 'bench';

interface CallsRow {
  concurrency: number;
  bare: Measured;
  call: Measured;
  /** call / bare, computed from the p50. */
  latency: number;
  /** call / bare, computed from the calls per second. */
  throughput: number;
}

/**
 * Compares HTTP calls of hash-text with a minimal workflow of one activity on the same Temporal server. The runs are
 * short and alternate, so that other load on the machine affects both alike.
 */
export async function benchCalls(
  stack: Stack,
  { rounds, concurrencies, calls, warmUp }: Sizes['calls'],
): Promise<CallsRow[]> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
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
  for (const concurrency of concurrencies) {
    await measure(warmUp, concurrency, bare);
    await measure(warmUp, concurrency, call);
    const runs: { bare: Measured; call: Measured }[] = [];
    for (let round = 0; round < rounds; round++) {
      const times = concurrency === 1 ? calls.alone : concurrency * calls.each;
      runs.push({
        bare: await measure(times, concurrency, bare),
        call: await measure(times, concurrency, call),
      });
    }
    const median = (of: (run: (typeof runs)[number]) => number) =>
      runs.map(of).sort((a, b) => a - b)[Math.floor(runs.length / 2)] ?? Number.NaN;
    const side = (name: 'bare' | 'call'): Measured => ({
      p50: median((run) => run[name].p50),
      p95: median((run) => run[name].p95),
      perSecond: median((run) => run[name].perSecond),
    });
    rows.push({
      concurrency,
      bare: side('bare'),
      call: side('call'),
      latency: median((run) => run.call.p50 / run.bare.p50),
      throughput: median((run) => run.call.perSecond / run.bare.perSecond),
    });
  }
  return rows;
}
