import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import test from 'ava';
import { createBackgroundDispatch } from '../../platform/temporal/startDispatch.ts';
import { loadWorkflowBundle } from '../../workers/bundle.ts';
import { startNamespace } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** Starts a namespace without workers. `makeStarter` starts dispatches as an API process does. */
async function makeScene(open: AsyncDisposableStack) {
  const { temporalAddress, namespace } = open.adopt(await startNamespace(), (it) => it.stop());
  const connect = async (options: ConnectionOptions) => {
    const connection = await Connection.connect({ address: temporalAddress, ...options });
    return new Client({ connection: open.adopt(connection, (it) => it.close()), namespace });
  };
  const client = await connect({});
  // Like the API's client, it has no retries of the SDK. They would fail after the connection is closed, outside of any call.
  const sender = await connect({ interceptors: [] });
  const errors: unknown[] = [];
  return {
    temporalAddress,
    namespace,
    errors,
    /** @param further as that of `createBackgroundDispatch` */
    makeStarter: (further?: (accountId: string) => Promise<void>) =>
      createBackgroundDispatch(sender, (error) => errors.push(error), further),
    count: async (query: string) => (await client.workflow.count(query)).count,
    /** Number of signals that the workflow of an account has received. */
    async signals(accountId: string): Promise<number> {
      const { events } = await client.workflow.getHandle(`dispatch-account-${accountId}`).fetchHistory();
      const signals = events?.filter((event) => event.workflowExecutionSignaledEventAttributes != null);
      return signals?.length ?? 0;
    },
  };
}

test('one workflow per account waits to dispatch its events, however many events there are', async (t) => {
  await using open = new AsyncDisposableStack();
  const { makeStarter, count, errors } = await makeScene(open);
  const started = () => count("WorkflowType = 'dispatchEvents'");
  const [one, other] = [makeStarter(), makeStarter()];

  for (let burst = 0; burst < 10; burst++) {
    for (let event = 0; event < 100; event++) {
      one('acc_busy');
      other('acc_busy');
    }
    await sleep(50);
  }
  one('acc_other');
  await until('both accounts have been processed', async () => (await started()) >= 2);
  t.is(await started(), 2);
  t.deepEqual(errors, []);
});

test('events that soon follow the first one are dispatched in the process, and by the workflow if that fails', async (t) => {
  await using open = new AsyncDisposableStack();
  const { makeStarter, signals, errors } = await makeScene(open);
  const dispatched: string[] = [];
  let isBroken = false;
  const start = makeStarter(async (accountId) => {
    dispatched.push(accountId);
    if (isBroken) throw new Error('the database is gone');
  });
  start('acc_busy');
  await until('the workflow is started', async () => (await signals('acc_busy').catch(() => 0)) === 1);
  t.deepEqual(dispatched, []);
  for (let event = 0; event < 50; event++) start('acc_busy');
  await until('the others are dispatched', async () => dispatched.length > 0);
  t.deepEqual(dispatched, ['acc_busy'], 'together');
  t.is(await signals('acc_busy'), 1);

  isBroken = true;
  start('acc_busy');
  await until('the workflow is signalled', async () => (await signals('acc_busy')) === 2);
  t.is(dispatched.length, 2);
  t.deepEqual(errors, []);
});

/**
 * Starts a worker whose dispatch activity reads the newest event when it starts, and records it as dispatched when it
 * ends.
 */
async function startWorker(
  open: AsyncDisposableStack,
  { temporalAddress, namespace }: { temporalAddress: string; namespace: string },
  takesMs: () => number,
) {
  const connection = open.adopt(await NativeConnection.connect({ address: temporalAddress }), (it) =>
    it.close(),
  );
  /** Numbers of the newest event and of the newest dispatched event; running dispatches. */
  const dispatcher = { newest: 0, handedOver: 0, active: 0, maxRunning: 0 };
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: 'orchestrator',
    workflowBundle: await loadWorkflowBundle((error) => console.error(error)),
    activities: {
      async dispatchEvents() {
        dispatcher.maxRunning = Math.max(dispatcher.maxRunning, ++dispatcher.active);
        const seen = dispatcher.newest;
        await sleep(takesMs());
        dispatcher.handedOver = Math.max(dispatcher.handedOver, seen);
        dispatcher.active--;
      },
    },
  });
  const running = worker.run();
  open.defer(async () => {
    worker.shutdown();
    await running;
  });
  return dispatcher;
}

test('an event that occurs during a dispatch is dispatched afterwards', async (t) => {
  await using open = new AsyncDisposableStack();
  const scene = await makeScene(open);
  const { makeStarter, count, errors } = scene;
  const dispatcher = await startWorker(open, scene, () => 40);
  const startDispatch = makeStarter();
  for (let event = 1; event <= 100; event++) {
    dispatcher.newest = event;
    startDispatch('acc_busy');
    // The pauses vary, so that events occur between dispatches, during a dispatch, and as a dispatch ends.
    await sleep(event % 10 === 0 ? 300 : (event * 7) % 60);
  }
  await until('the last event is dispatched', async () => dispatcher.handedOver === 100);
  await until('all workflows end', async () => (await count("ExecutionStatus = 'Running'")) === 0);
  t.is(dispatcher.maxRunning, 1);
  t.is(await count("WorkflowType = 'dispatchEvents' AND ExecutionStatus != 'Completed'"), 0);
  t.deepEqual(errors, []);
});

test('an event that is signalled while the workflow waits for a slow database is dispatched', async (t) => {
  await using open = new AsyncDisposableStack();
  const scene = await makeScene(open);
  // Longer than 8 of the 10 seconds of a workflow task, after which the workflow checks for new signals.
  const slow = [11_000];
  const dispatcher = await startWorker(open, scene, () => slow.pop() ?? 0);
  const startDispatch = scene.makeStarter();
  dispatcher.newest = 1;
  startDispatch('acc_slow');
  await until('the first event is being dispatched', async () => dispatcher.active === 1);
  dispatcher.newest = 2;
  startDispatch('acc_slow');
  await until('the second event is dispatched', async () => dispatcher.handedOver === 2);
  t.deepEqual(scene.errors, []);
});
