import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import test from 'ava';
import { createDispatchEvents } from '../../api/webhooks/startDispatch.ts';
import { loadWorkflowBundle } from '../../workers/bundle.ts';
import { until } from '../helpers/books.ts';
import { startNamespace } from '../helpers/stack.ts';

/** A namespace without workers, and a way to hand over as an API process has it. */
async function makeScene(open: AsyncDisposableStack) {
  const { temporalAddress, namespace } = open.adopt(await startNamespace(), (it) => it.stop());
  const connection = open.adopt(await Connection.connect({ address: temporalAddress }), (it) => it.close());
  const client = new Client({ connection, namespace });
  const errors: unknown[] = [];
  return {
    temporalAddress,
    namespace,
    errors,
    makeDispatchEvents: () => createDispatchEvents(client, (error) => errors.push(error)),
    count: async (query: string) => (await client.workflow.count(query)).count,
  };
}

test('however many events an account has while nobody hands them over, one workflow waits for it', async (t) => {
  await using open = new AsyncDisposableStack();
  const { makeDispatchEvents, count, errors } = await makeScene(open);
  const started = () => count("WorkflowType = 'dispatchEvents'");
  const [one, other] = [makeDispatchEvents(), makeDispatchEvents()];

  for (let burst = 0; burst < 10; burst++) {
    for (let event = 0; event < 100; event++) {
      one('acc_busy');
      other('acc_busy');
    }
    await sleep(50);
  }
  one('acc_other');
  await until('both accounts are seen to', async () => (await started()) >= 2);
  t.is(await started(), 2);
  t.deepEqual(errors, []);
});

/** A worker that hands over by taking note of it: what it saw when it began counts when it ends. */
async function startWorker(
  open: AsyncDisposableStack,
  { temporalAddress, namespace }: { temporalAddress: string; namespace: string },
  takesMs: () => number,
) {
  const connection = open.adopt(await NativeConnection.connect({ address: temporalAddress }), (it) =>
    it.close(),
  );
  /** The newest event there is, and the newest that was handed over. */
  const books = { newest: 0, handedOver: 0, atOnce: 0, mostAtOnce: 0 };
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: 'orchestrator',
    workflowBundle: await loadWorkflowBundle((error) => console.error(error)),
    activities: {
      async dispatchEvents() {
        books.mostAtOnce = Math.max(books.mostAtOnce, ++books.atOnce);
        const seen = books.newest;
        await sleep(takesMs());
        books.handedOver = Math.max(books.handedOver, seen);
        books.atOnce--;
      },
    },
  });
  const running = worker.run();
  open.defer(async () => {
    worker.shutdown();
    await running;
  });
  return books;
}

test('an event that comes while others are handed over is handed over after them', async (t) => {
  await using open = new AsyncDisposableStack();
  const scene = await makeScene(open);
  const { makeDispatchEvents, count, errors } = scene;
  const books = await startWorker(open, scene, () => 40);
  const dispatchEvents = makeDispatchEvents();
  for (let event = 1; event <= 100; event++) {
    books.newest = event;
    dispatchEvents('acc_busy');
    // Between hand-overs, in the midst of one, and as one ends.
    await sleep(event % 10 === 0 ? 300 : (event * 7) % 60);
  }
  await until('the last one is handed over', async () => books.handedOver === 100);
  await until('all workflows end', async () => (await count("ExecutionStatus = 'Running'")) === 0);
  t.is(books.mostAtOnce, 1);
  t.is(await count("WorkflowType = 'dispatchEvents' AND ExecutionStatus != 'Completed'"), 0);
  t.deepEqual(errors, []);
});

test('an event is handed over that the workflow is told of while it waits for a slow database', async (t) => {
  await using open = new AsyncDisposableStack();
  const scene = await makeScene(open);
  // Longer than a workflow task waits for a step before it looks for news: 8 of its 10 seconds.
  const slow = [11_000];
  const books = await startWorker(open, scene, () => slow.pop() ?? 0);
  const dispatchEvents = scene.makeDispatchEvents();
  books.newest = 1;
  dispatchEvents('acc_slow');
  await until('the first is being handed over', async () => books.atOnce === 1);
  books.newest = 2;
  dispatchEvents('acc_slow');
  await until('the second is handed over', async () => books.handedOver === 2);
  t.deepEqual(scene.errors, []);
});
