import { Context } from '@temporalio/activity';
import { ApplicationFailure, WorkflowFailedError } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import test from 'ava';
import { until as untilTrue } from '../helpers/until.ts';
import { type Call, type Harness, NONCE, OUTPUT, record, startHarness, until } from './workflowHarness.ts';

let harness: Harness;

test.before(async (t) => {
  t.timeout(180_000);
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  harness = await startHarness();
});
test.after.always(async () => {
  await harness?.[Symbol.asyncDispose]();
});

/** Waits for the failure of the call. Returns its error code, message and details. */
async function refusalOf({ handle }: Call): Promise<{ code: string; message: string; details: unknown }> {
  try {
    await handle.result();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure)) throw error;
    const { type, message, details } = error.cause;
    return { code: type ?? '', message, details: details?.[0] };
  }
  throw new Error('it answered a result');
}

const failTimes = (times: number): (() => void) => {
  let left = times;
  return () => {
    if (left-- > 0) throw new Error('the database is away');
  };
};

const failWith = (code: string) => async () => {
  throw ApplicationFailure.create({
    type: code,
    message: 'says the tool',
    nonRetryable: true,
    category: 'BENIGN',
    details: [{ members: {}, retryAfter: null, available: null }],
  });
};

test('a charged result is returned, at the price of the call and not the current price', async (t) => {
  const prices: number[] = [];
  const call = await harness.call({
    async reserve({ price }) {
      prices.push(price);
      return { status: 'held', nonce: NONCE, available: 93 };
    },
  });
  t.deepEqual(await call.handle.result(), { result: OUTPUT, available: 93 });
  t.deepEqual(call.ledgerSteps, ['reserve', `charged ${NONCE}`]);
  t.deepEqual(prices, [7], 'the reserved price is that of the call');
  const { events } = await call.handle.fetchHistory();
  t.true((events?.length ?? 99) <= 13, `${events?.length} events`);
  await record('success', call);
});

test('events of a charge are dispatched by a child workflow', async (t) => {
  const before = harness.dispatched.length;
  const call = await harness.call({
    settle: async ({ wanted }) => ({ state: wanted, available: 24, fired: true }),
  });
  t.deepEqual(await call.handle.result(), { result: OUTPUT, available: 24 });
  await until(() => harness.dispatched.length > before);
  t.deepEqual(harness.dispatched.slice(before), ['acc_1']);
  await record('fired', call);
});

test('without credits no tool runs, and the error reports the available credits', async (t) => {
  const call = await harness.call({ reserve: async () => ({ status: 'insufficient', available: 3 }) });
  const { code, details } = await refusalOf(call);
  t.is(code, 'insufficient_credits');
  t.like(details, { members: { available: 3, cost: 7 } });
  t.deepEqual(call.ledgerSteps, ['reserve', 'refunded insufficient_credits released']);
  t.is(call.runs(), 0);
  await record('insufficient', call);
});

test('a call above the budget of its key is refused, and the error names the budget', async (t) => {
  const budget = { period: 'day', credits: 10, spent: 9, resetsAt: '2026-12-01T00:00:00.000Z' } as const;
  const call = await harness.call({
    reserve: async () => ({ status: 'over_budget', available: 93, budget, detail: 'says the ledger' }),
  });
  const { code, message, details } = await refusalOf(call);
  t.is(code, 'key_budget_exceeded');
  t.is(message, 'says the ledger');
  t.like(details, { members: { cost: 7, budget }, available: 93 });
  t.deepEqual(call.ledgerSteps, ['reserve', 'refunded key_budget_exceeded released']);
  t.is(call.runs(), 0);
  await record('over-budget', call);
});

test('calls are refused if too many calls run, if the account is suspended, and if the call has already ended', async (t) => {
  for (const [status, code] of [
    ['busy', 'rate_limited'],
    ['suspended', 'account_suspended'],
  ] as const) {
    const call = await harness.call({ reserve: async () => ({ status, available: 93 }) });
    t.is((await refusalOf(call)).code, code);
    t.is(call.runs(), 0);
  }
  const call = await harness.call({
    reserve: async () => ({ status: 'closed', code: 'deadline_exceeded', available: 93 }),
  });
  t.is((await refusalOf(call)).code, 'deadline_exceeded');
  t.is(call.runs(), 0);
});

test('a call that the tool refuses is refunded; its key stays bound only if the refusal is final', async (t) => {
  for (const [code, key] of [
    ['host_not_found', 'bound'],
    ['target_failed', 'released'],
  ] as const) {
    const call = await harness.call({ tool: failWith(code) });
    t.like(await refusalOf(call), { code, message: 'says the tool' });
    t.deepEqual(call.ledgerSteps, ['reserve', `refunded ${code} ${key}`]);
    t.is(call.runs(), 1, 'an expected failure is not retried');
    await record(code, call);
  }
});

test('a failing tool is retried, and ends as an internal error', async (t) => {
  const call = await harness.call({
    async tool() {
      throw new Error('a bug, with internal details');
    },
  });
  const { code, message } = await refusalOf(call);
  t.is(code, 'internal');
  t.notRegex(message, /bug/);
  t.is(call.runs(), 3);
  t.deepEqual(call.ledgerSteps, ['reserve', 'refunded internal released']);
  await record('internal', call);
});

test('a failing reservation is retried until it succeeds', async (t) => {
  const mayFail = failTimes(5);
  const call = await harness.call({
    async reserve() {
      mayFail();
      return { status: 'held', nonce: NONCE, available: 93 };
    },
  });
  t.deepEqual((await call.handle.result()).result, OUTPUT);
  t.is(call.ledgerSteps.filter((step) => step === 'reserve').length, 6);
});

test('a reservation that returns after the deadline is refunded, and no tool runs', async (t) => {
  const mayFail = failTimes(6); // 6 s with the retry policy
  const call = await harness.call(
    {
      async reserve() {
        mayFail();
        return { status: 'held', nonce: NONCE, available: 93 };
      },
    },
    { deadlineMs: 1500 },
  );
  t.is((await refusalOf(call)).code, 'deadline_exceeded');
  t.is(call.ledgerSteps.at(-1), 'refunded deadline_exceeded released');
  t.is(call.runs(), 0);
  await record('reserved-too-late', call);
});

test('a failing settlement is retried until it succeeds, however long MongoDB is unavailable', async (t) => {
  t.timeout(120_000);
  const mayFail = failTimes(7); // 11 s with the retry policy: longer than the timeout of a workflow task
  const call = await harness.call({
    async settle({ wanted }) {
      mayFail();
      return { state: wanted, available: 86 };
    },
  });
  t.deepEqual(await call.handle.result(), { result: OUTPUT, available: 86 });
  t.is(call.ledgerSteps.filter((step) => step === `charged ${NONCE}`).length, 8);
  t.is(call.runs(), 1);
  await record('settle-retried', call);
});

test('if the ledger has recorded a refund, no output is returned', async (t) => {
  const call = await harness.call({ settle: async () => ({ state: 'refunded', available: 100 }) });
  const refusal = await refusalOf(call);
  t.is(refusal.code, 'deadline_exceeded');
  t.false(JSON.stringify(refusal).includes('42'));
  await record('refunded-by-others', call);
});

test('if a call is cancelled before its start, the tool never runs', async (t) => {
  for (const actsOnWorld of [false, true]) {
    const queue = `late-${actsOnWorld}`;
    const call = await harness.call({}, { actsOnWorld, attempts: 1 }, queue);
    await call.handle.cancel();
    await using _worker = await harness.startOrchestrator(queue);
    t.is((await refusalOf(call)).code, 'cancelled');
    t.is(call.ledgerSteps.at(-1), 'refunded cancelled released');
    t.is(call.runs(), 0);
    await record(`cancelled-before-reserve-${actsOnWorld ? 'acting' : 'pure'}`, call);
  }
});

/** Runs until a heartbeat of the activity reports the cancellation. */
async function untilCancelled() {
  const { cancelled, heartbeat } = Context.current();
  const beat = setInterval(() => heartbeat(), 200);
  try {
    return await cancelled;
  } finally {
    clearInterval(beat);
  }
}

test('cancelling a call during the reservation releases the hold', async (t) => {
  let begun = false;
  let cancelled = false;
  const call = await harness.call({
    async reserve() {
      begun = true;
      await until(() => cancelled);
      return { status: 'held', nonce: NONCE, available: 93 };
    },
    tool: untilCancelled, // the workflow may receive the cancellation only after it has started the tool
  });
  await until(() => begun);
  await call.handle.cancel();
  cancelled = true;
  t.is((await refusalOf(call)).code, 'cancelled');
  t.is(call.ledgerSteps.at(-1), 'refunded cancelled released');
});

test('cancelling a call while the tool runs stops the tool and refunds the credits', async (t) => {
  let begun = false;
  const call = await harness.call({
    tool: () => {
      begun = true;
      return untilCancelled();
    },
  });
  await until(() => begun);
  await call.handle.cancel();
  t.is((await refusalOf(call)).code, 'cancelled');
  t.deepEqual(call.ledgerSteps, ['reserve', 'refunded cancelled released']);
  t.is(call.runs(), 1);
  await record('cancelled', call);
});

test('a tool with side effects outside the service is not interrupted by a cancellation, and is charged', async (t) => {
  let begun = false;
  let go = false;
  const call = await harness.call(
    {
      async tool() {
        begun = true;
        await until(() => go);
        return OUTPUT;
      },
    },
    { actsOnWorld: true, attempts: 1 },
  );
  await until(() => begun);
  await call.handle.cancel();
  await untilTrue('the workflow has asked the tool to stop', async () => {
    const { events } = await call.handle.fetchHistory();
    return events?.some((event) => event.activityTaskCancelRequestedEventAttributes != null) ?? false;
  });
  go = true;
  t.deepEqual((await call.handle.result()).result, OUTPUT);
  t.deepEqual(call.ledgerSteps, ['reserve', `charged ${NONCE}`]);
  await record('acting-cancelled', call);
});

test('a call with side effects that no worker has started is cancelled and refunded', async (t) => {
  const call = await harness.call({}, { pool: 'heavy', queueMs: 60_000, actsOnWorld: true, attempts: 1 });
  await untilTrue(
    'the tool is scheduled',
    async () => (await call.handle.describe()).raw.pendingActivities?.length === 1,
  );
  await call.handle.cancel();
  t.is((await refusalOf(call)).code, 'cancelled');
  t.deepEqual(call.ledgerSteps, ['reserve', 'refunded cancelled bound']);
  t.is(call.runs(), 0);
  await record('acting-cancelled-waiting', call);
});

test('a tool with side effects outside the service is attempted once, and keeps its key if it may have run', async (t) => {
  const call = await harness.call(
    {
      async tool() {
        throw new Error('broken half way');
      },
    },
    { actsOnWorld: true, attempts: 1 },
  );
  t.is((await refusalOf(call)).code, 'internal');
  t.is(call.runs(), 1);
  t.deepEqual(call.ledgerSteps, ['reserve', 'refunded internal bound']);
});

test('a cancellation during the settlement is too late: the result is charged and returned', async (t) => {
  let settling = false;
  let go = false;
  const call = await harness.call({
    async settle({ wanted }) {
      settling = true;
      await until(() => go);
      return { state: wanted, available: 93 };
    },
  });
  await until(() => settling);
  await call.handle.cancel();
  go = true;
  t.deepEqual((await call.handle.result()).result, OUTPUT);
  // The cancellation makes the Temporal server repeat the workflow task, and with it the local activity that settles.
  t.deepEqual([...new Set(call.ledgerSteps)], ['reserve', `charged ${NONCE}`]);
  await record('cancelled-while-settling', call);
});

test('if no worker starts the call in time, it is pool_busy and no tool has run', async (t) => {
  for (const actsOnWorld of [false, true]) {
    const call = await harness.call({}, { pool: 'heavy', queueMs: 1000, actsOnWorld, attempts: 1 });
    const { code, details } = await refusalOf(call);
    t.is(code, 'pool_busy');
    t.like(details, { retryAfter: 5 });
    t.deepEqual(call.ledgerSteps, ['reserve', 'refunded pool_busy released']);
    t.is(call.runs(), 0);
    if (!actsOnWorld) await record('pool-busy', call);
  }
});

test('if a later attempt finds no worker, the call is not pool_busy, because the tool may have run', async (t) => {
  t.timeout(60_000);
  let begun = false;
  const call = await (async () => {
    await using _worker = await harness.startToolWorker('network');
    const started = await harness.call(
      {
        async tool() {
          begun = true;
          // Rejects when the worker stops, after which it takes no further attempt.
          await Context.current().cancelled.catch(() => undefined);
          throw new Error('the worker breaks');
        },
      },
      { pool: 'network', queueMs: 2000 },
    );
    await until(() => begun);
    return started;
  })();
  t.is((await refusalOf(call)).code, 'internal');
  t.true(call.runs() >= 1);
  await record('second-attempt-in-vain', call);
});

test('a worker that sends no heartbeats counts as dead, and another attempt returns the result', async (t) => {
  t.timeout(60_000);
  let attempt = 0;
  const call = await harness.call({
    async tool() {
      if (++attempt > 1) return OUTPUT;
      // The server starts the second attempt only after the first one has missed its heartbeats.
      await until(() => attempt > 1);
      return { output: { answer: 'from the dead' } };
    },
  });
  t.deepEqual((await call.handle.result()).result, OUTPUT);
  t.deepEqual(call.ledgerSteps, ['reserve', `charged ${NONCE}`]);
  t.is(call.runs(), 2);
  await record('heartbeat-timeout', call);
});

test('a tool that takes too long is reported as deadline_exceeded, not as internal', async (t) => {
  t.timeout(60_000);
  const call = await harness.call(
    { tool: untilCancelled },
    { attemptMs: 500, deadlineMs: 2500, attempts: 1 },
  );
  t.is((await refusalOf(call)).code, 'deadline_exceeded');
  t.deepEqual(call.ledgerSteps, ['reserve', 'refunded deadline_exceeded released']);
  await record('deadline', call);
});
