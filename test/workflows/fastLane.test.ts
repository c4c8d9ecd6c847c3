import { ApplicationFailure, WorkflowFailedError } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import test from 'ava';
import type { CallPolicy } from '../../store/calls/callPolicy.ts';
import {
  type CallActivities,
  FAST_QUEUE,
  type Harness,
  NONCE,
  OUTPUT,
  record,
  startHarness,
  until,
} from './workflowHarness.ts';

/*
 * Calls whose workflow runs on a worker of the lane of fast tools, which runs all steps as one local activity.
 */

let harness: Harness;

test.before(async (t) => {
  t.timeout(180_000);
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  harness = await startHarness();
});
test.after.always(async () => {
  await harness?.[Symbol.asyncDispose]();
});

const callInLane = (activities: CallActivities, policy: Partial<CallPolicy> = {}) =>
  harness.call(activities, { isFast: true, ...policy }, FAST_QUEUE);

/** Waits for the failure of a call. Returns its error code and detail. */
async function refusalOf({ handle }: Awaited<ReturnType<typeof callInLane>>) {
  try {
    await handle.result();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure)) throw error;
    return { code: error.cause.type, message: error.cause.message };
  }
  throw new Error('the call returned a result');
}

test('a call is one workflow task, in which its price is reserved, its tool run and its price charged', async (t) => {
  const call = await callInLane({});
  t.deepEqual(await call.handle.result(), { result: OUTPUT, available: 93 });
  t.deepEqual(call.ledgerSteps, ['reserve', `charged ${NONCE}`]);
  t.is(call.runs(), 1);
  const { events } = await call.handle.fetchHistory();
  t.is(events?.length, 6);
  await record('fast', call);
});

test('an error of the tool refunds the call', async (t) => {
  const call = await callInLane({
    async tool() {
      throw ApplicationFailure.create({
        type: 'invalid_input',
        message: 'says the tool',
        nonRetryable: true,
      });
    },
  });
  t.deepEqual(await refusalOf(call), { code: 'invalid_input', message: 'says the tool' });
  t.deepEqual(call.ledgerSteps, ['reserve', 'refunded invalid_input bound']);
  await record('fast-refused', call);
});

test('a fault of the tool is retried as often as its policy permits, and then refunds the call', async (t) => {
  const call = await callInLane(
    {
      async tool() {
        throw new Error('a fault');
      },
    },
    { attempts: 2 },
  );
  t.is((await refusalOf(call)).code, 'internal');
  t.is(call.runs(), 2);
  t.deepEqual(call.ledgerSteps, ['reserve', 'reserve', 'refunded internal released']);
});

for (const step of ['reserve', 'settle'] as const)
  test(`a ${step} that fails is repeated until MongoDB answers, and the tool runs once`, async (t) => {
    let faults = 2;
    const failing = (name: typeof step) => {
      if (name === step && faults-- > 0) throw new Error('MongoDB does not answer');
    };
    const call = await callInLane({
      async reserve() {
        failing('reserve');
        return { status: 'held', nonce: NONCE, available: 93 };
      },
      async settle({ wanted }) {
        failing('settle');
        return { state: wanted, available: 93 };
      },
    });
    t.deepEqual(await call.handle.result(), { result: OUTPUT, available: 93 });
    t.is(call.runs(), 1);
    const times = (name: typeof step) => (name === step ? 3 : 1);
    t.deepEqual(call.ledgerSteps, [
      ...Array(times('reserve')).fill('reserve'),
      ...Array(times('settle')).fill(`charged ${NONCE}`),
    ]);
  });

test('a tool that exceeds its time limit is deadline_exceeded', async (t) => {
  t.timeout(60_000);
  const ends: (() => void)[] = [];
  const call = await callInLane(
    {
      async tool() {
        await new Promise<void>((end) => ends.push(end));
        return OUTPUT;
      },
    },
    { attempts: 1, attemptMs: 100 },
  );
  t.is((await refusalOf(call)).code, 'deadline_exceeded');
  for (const end of ends) end();
  t.deepEqual(call.ledgerSteps, ['reserve', 'refunded deadline_exceeded released']);
});

test('events of a charge are dispatched by a workflow on the queue of the orchestrator', async (t) => {
  const call = await callInLane({
    settle: async ({ wanted }) => ({ state: wanted, available: 24, fired: true }),
  });
  t.deepEqual(await call.handle.result(), { result: OUTPUT, available: 24 });
  await until(() => harness.dispatched.length > 0);
  t.deepEqual(harness.dispatched, ['acc_1']);
});

test('a task that is repeated after it charged the call runs the tool again and returns its result', async (t) => {
  const call = await callInLane({
    reserve: async () => ({ status: 'closed', code: null, available: 93, charged: true }),
    settle: async () => ({ state: 'charged', available: 93 }),
  });
  t.deepEqual(await call.handle.result(), { result: OUTPUT, available: 93 });
  t.is(call.runs(), 1);
  t.deepEqual(call.ledgerSteps, ['reserve', 'charged none']);
});

test('a call that was ended before its task runs no tool', async (t) => {
  const call = await callInLane({
    reserve: async () => ({ status: 'closed', code: 'pool_busy', available: 93 }),
    settle: async () => ({ state: 'refunded', available: 93 }),
  });
  t.is((await refusalOf(call)).code, 'pool_busy');
  t.is(call.runs(), 0);
});
