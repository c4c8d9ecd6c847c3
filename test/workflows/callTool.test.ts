import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ApplicationFailure, WorkflowFailedError } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import test from 'ava';
import { type Call, NONCE, type Orchestra, OUTPUT, record, startOrchestra, until } from './orchestra.ts';

let orchestra: Orchestra;

test.before(async (t) => {
  t.timeout(180_000);
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  orchestra = await startOrchestra();
});
test.after.always(async () => {
  await orchestra?.[Symbol.asyncDispose]();
});

/** The failure that ended the call: its code, and what came with it. */
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

test('a result is answered when it is charged, at the price of the call and not of today', async (t) => {
  const prices: number[] = [];
  const call = await orchestra.call({
    async reserve({ price }) {
      prices.push(price);
      return { status: 'held', nonce: NONCE, available: 93 };
    },
  });
  t.deepEqual(await call.handle.result(), { result: OUTPUT, available: 93 });
  t.deepEqual(call.money, ['reserve', `charged ${NONCE}`]);
  t.deepEqual(prices, [7], 'the price that came with the call');
  const { events } = await call.handle.fetchHistory();
  t.true((events?.length ?? 99) <= 13, `${events?.length} events`);
  await record('success', call);
});

test('what a charge fired is handed over by a workflow of its own', async (t) => {
  const before = orchestra.handedOver.length;
  const call = await orchestra.call({
    settle: async ({ wanted }) => ({ state: wanted, available: 24, fired: true }),
  });
  t.deepEqual(await call.handle.result(), { result: OUTPUT, available: 24 });
  await until(() => orchestra.handedOver.length > before);
  t.deepEqual(orchestra.handedOver.slice(before), ['acc_1']);
  await record('fired', call);
});

test('without credits nothing runs, and the answer says what there is', async (t) => {
  const call = await orchestra.call({ reserve: async () => ({ status: 'insufficient', available: 3 }) });
  const { code, details } = await refusalOf(call);
  t.is(code, 'insufficient_credits');
  t.like(details, { members: { available: 3, cost: 7 } });
  t.deepEqual(call.money, ['reserve', 'refunded insufficient_credits released']);
  t.is(call.runs(), 0);
  await record('insufficient', call);
});

test('an account with too many calls, a suspended one, and a call that was ended before', async (t) => {
  for (const [status, code] of [
    ['busy', 'rate_limited'],
    ['suspended', 'account_suspended'],
  ] as const) {
    const call = await orchestra.call({ reserve: async () => ({ status, available: 93 }) });
    t.is((await refusalOf(call)).code, code);
    t.is(call.runs(), 0);
  }
  const call = await orchestra.call({
    reserve: async () => ({ status: 'closed', code: 'deadline_exceeded', available: 93 }),
  });
  t.is((await refusalOf(call)).code, 'deadline_exceeded');
  t.is(call.runs(), 0);
});

test('what the tool refuses is refunded; only what would be refused again keeps its key', async (t) => {
  for (const [code, key] of [
    ['host_not_found', 'bound'],
    ['target_failed', 'released'],
  ] as const) {
    const call = await orchestra.call({ tool: failWith(code) });
    t.like(await refusalOf(call), { code, message: 'says the tool' });
    t.deepEqual(call.money, ['reserve', `refunded ${code} ${key}`]);
    t.is(call.runs(), 1, 'an expected failure is not tried again');
    await record(code, call);
  }
});

test('a tool that breaks is tried again, and in the end the fault is ours', async (t) => {
  const call = await orchestra.call({
    async tool() {
      throw new Error('a bug, with details that are nobody’s business');
    },
  });
  const { code, message } = await refusalOf(call);
  t.is(code, 'internal');
  t.notRegex(message, /bug/);
  t.is(call.runs(), 3);
  t.deepEqual(call.money, ['reserve', 'refunded internal released']);
  await record('internal', call);
});

test('a reservation that fails is tried until it works', async (t) => {
  const mayFail = failTimes(5);
  const call = await orchestra.call({
    async reserve() {
      mayFail();
      return { status: 'held', nonce: NONCE, available: 93 };
    },
  });
  t.deepEqual((await call.handle.result()).result, OUTPUT);
  t.is(call.money.filter((step) => step === 'reserve').length, 6);
});

test('a reservation that is answered after the deadline comes too late: it goes back, and nothing runs', async (t) => {
  const mayFail = failTimes(6); // 6 s with the retry policy
  const call = await orchestra.call(
    {
      async reserve() {
        mayFail();
        return { status: 'held', nonce: NONCE, available: 93 };
      },
    },
    { deadlineMs: 1500 },
  );
  t.is((await refusalOf(call)).code, 'deadline_exceeded');
  t.is(call.money.at(-1), 'refunded deadline_exceeded released');
  t.is(call.runs(), 0);
  await record('reserved-too-late', call);
});

test('a settlement that fails is tried until it works, however long MongoDB is away', async (t) => {
  t.timeout(120_000);
  const mayFail = failTimes(7); // 11 s with the retry policy: longer than one workflow task lives
  const call = await orchestra.call({
    async settle({ wanted }) {
      mayFail();
      return { state: wanted, available: 86 };
    },
  });
  t.deepEqual(await call.handle.result(), { result: OUTPUT, available: 86 });
  t.is(call.money.filter((step) => step === `charged ${NONCE}`).length, 8);
  t.is(call.runs(), 1);
  await record('settle-retried', call);
});

test('when the state on record is refunded, no output leaves', async (t) => {
  const call = await orchestra.call({ settle: async () => ({ state: 'refunded', available: 100 }) });
  const refusal = await refusalOf(call);
  t.is(refusal.code, 'deadline_exceeded');
  t.false(JSON.stringify(refusal).includes('42'));
  await record('refunded-by-others', call);
});

test('a cancel before anything began: the tool never runs', async (t) => {
  for (const actsOnWorld of [false, true]) {
    const queue = `late-${actsOnWorld}`;
    const call = await orchestra.call({}, { actsOnWorld, attempts: 1 }, queue);
    await call.handle.cancel();
    await using _worker = await orchestra.conduct(queue);
    t.is((await refusalOf(call)).code, 'cancelled');
    t.is(call.money.at(-1), 'refunded cancelled released');
    t.is(call.runs(), 0);
    await record(`cancelled-before-reserve-${actsOnWorld ? 'acting' : 'pure'}`, call);
  }
});

/** Runs until it is cancelled, which it learns with its heartbeat. */
async function untilCancelled() {
  const { cancelled, heartbeat } = Context.current();
  const beat = setInterval(() => heartbeat(), 200);
  try {
    return await cancelled;
  } finally {
    clearInterval(beat);
  }
}

test('a cancel while reserving: whatever hold there is by then goes back', async (t) => {
  let begun = false;
  const call = await orchestra.call({
    async reserve() {
      begun = true;
      await sleep(1500);
      return { status: 'held', nonce: NONCE, available: 93 };
    },
    tool: untilCancelled, // the workflow may learn of the cancel only after it has sent the tool off
  });
  await until(() => begun);
  await call.handle.cancel();
  t.is((await refusalOf(call)).code, 'cancelled');
  t.is(call.money.at(-1), 'refunded cancelled released');
});

test('a cancel while the tool runs stops it and gives the credits back', async (t) => {
  let begun = false;
  const call = await orchestra.call({
    tool: () => {
      begun = true;
      return untilCancelled();
    },
  });
  await until(() => begun);
  await call.handle.cancel();
  t.is((await refusalOf(call)).code, 'cancelled');
  t.deepEqual(call.money, ['reserve', 'refunded cancelled released']);
  t.is(call.runs(), 1);
  await record('cancelled', call);
});

test('what acts on the world is not cut short by a cancel, and is charged', async (t) => {
  let begun = false;
  let go = false;
  const call = await orchestra.call(
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
  await sleep(500);
  go = true;
  t.deepEqual((await call.handle.result()).result, OUTPUT);
  t.deepEqual(call.money, ['reserve', `charged ${NONCE}`]);
  await record('acting-cancelled', call);
});

test('what acts on the world is tried once, and keeps its key when it may have happened', async (t) => {
  const call = await orchestra.call(
    {
      async tool() {
        throw new Error('broken half way');
      },
    },
    { actsOnWorld: true, attempts: 1 },
  );
  t.is((await refusalOf(call)).code, 'internal');
  t.is(call.runs(), 1);
  t.deepEqual(call.money, ['reserve', 'refunded internal bound']);
});

test('a cancel during the settlement comes too late: the result is charged and stays', async (t) => {
  let settling = false;
  let go = false;
  const call = await orchestra.call({
    async settle({ wanted }) {
      settling = true;
      await until(() => go);
      return { state: wanted, available: 93 };
    },
  });
  await until(() => settling);
  await call.handle.cancel();
  await sleep(300);
  go = true;
  t.deepEqual((await call.handle.result()).result, OUTPUT);
  // The news of the cancel makes the server ask for the same workflow task again, and so for the settlement.
  t.deepEqual([...new Set(call.money)], ['reserve', `charged ${NONCE}`]);
  await record('cancelled-while-settling', call);
});

test('when no worker takes the call in time, the pool is busy and nothing ran', async (t) => {
  for (const actsOnWorld of [false, true]) {
    const call = await orchestra.call({}, { pool: 'heavy', queueMs: 1000, actsOnWorld, attempts: 1 });
    const { code, details } = await refusalOf(call);
    t.is(code, 'pool_busy');
    t.like(details, { retryAfter: 5 });
    t.deepEqual(call.money, ['reserve', 'refunded pool_busy released']);
    t.is(call.runs(), 0);
    if (!actsOnWorld) await record('pool-busy', call);
  }
});

test('a later attempt that waits in vain is no busy pool: something may have run', async (t) => {
  t.timeout(60_000);
  let begun = false;
  const call = await (async () => {
    await using _worker = await orchestra.play('network');
    const started = await orchestra.call(
      {
        async tool() {
          begun = true;
          await sleep(300);
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

test('a worker that falls silent is taken for dead, and another attempt answers', async (t) => {
  t.timeout(60_000);
  let attempt = 0;
  const call = await orchestra.call({
    async tool() {
      if (attempt++ > 0) return OUTPUT;
      await sleep(14_000); // without a heartbeat
      return { output: { answer: 'from the dead' } };
    },
  });
  t.deepEqual((await call.handle.result()).result, OUTPUT);
  t.deepEqual(call.money, ['reserve', `charged ${NONCE}`]);
  t.is(call.runs(), 2);
  await record('heartbeat-timeout', call);
});

test('work that takes too long is a deadline, not a fault of ours', async (t) => {
  t.timeout(60_000);
  const call = await orchestra.call(
    { tool: untilCancelled },
    { attemptMs: 500, deadlineMs: 2500, attempts: 1 },
  );
  t.is((await refusalOf(call)).code, 'deadline_exceeded');
  t.deepEqual(call.money, ['reserve', 'refunded deadline_exceeded released']);
  await record('deadline', call);
});
