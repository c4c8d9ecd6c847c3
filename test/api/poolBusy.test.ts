import test from 'ava';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

let stack: Stack;
let store: Store;

test.before(async () => {
  stack = await startStack({
    pools: ['orchestrator', 'cpu'],
    // Half of it is the time in which the second test has to send its third call.
    env: { POOL_WAIT: '5s', RATE_LIMIT: '1000:1000', CALLS_PER_POOL: '2' },
  });
  store = await openStore(stack.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

test.serial(
  'a call that no worker starts in time is pool_busy, costs nothing, and its key can be used again',
  async (t) => {
    const account = await makeAccount(stack, 3);
    const call = () => account.call('hash-text', { text: 'busy' }, { 'Idempotency-Key': 'k' });
    await stack.kill('cpu');
    const busy = await call();
    t.is(busy.status, 503);
    t.like(await busy.json(), { code: 'pool_busy', requestId: busy.headers.get('X-Request-Id') });
    t.is(busy.headers.get('Retry-After'), '5');
    t.is(busy.headers.get('X-Credits-Charged'), '0');
    t.is(busy.headers.get('X-Credits-Remaining'), '3');

    await stack.restart('cpu');
    const answer = await call();
    t.is(answer.status, 200);
    t.is(answer.headers.get('Idempotent-Replayed'), null);
    t.is(answer.headers.get('X-Credits-Charged'), '1');
    const rows = await callsOf(store, account.accountId);
    t.deepEqual(
      rows.map(({ state, code }) => ({ state, code })),
      [
        { state: 'refunded', code: 'pool_busy' },
        { state: 'charged', code: null },
      ],
    );
    t.is((await accountOf(store, account.accountId)).balance, 2);
    t.deepEqual(await auditWhenIdle(store), []);
  },
);

test.serial(
  'a call that gets no slot beside the calls of another account is pool_busy and not recorded',
  async (t) => {
    const first = await makeAccount(stack, 2);
    const other = await makeAccount(stack, 1);
    await stack.kill('cpu');
    const running = [1, 2].map(() => first.call('hash-text', { text: 'first' }));
    await until('two calls run', async () => (await callsOf(store, first.accountId)).length === 2, 10_000);
    const busy = await other.call('hash-text', { text: 'other' });
    t.is(busy.status, 503);
    t.like(await busy.json(), { code: 'pool_busy' });
    t.is(busy.headers.get('X-Credits-Charged'), '0');
    t.deepEqual(await callsOf(store, other.accountId), []);
    t.deepEqual(
      (await Promise.all(running)).map(({ status }) => status),
      [503, 503],
    );

    await stack.restart('cpu');
    t.is((await other.call('hash-text', { text: 'other' })).status, 200);
    t.deepEqual(await auditWhenIdle(store), []);
  },
);

test.serial(
  'twelve large inputs of an account wait for a place at a time, and further ones are read later',
  async (t) => {
    const account = await makeAccount(stack, 100);
    await stack.kill('cpu');
    const running = [1, 2].map(() => account.call('hash-text', { text: 'first' }));
    await until('two calls run', async () => (await callsOf(store, account.accountId)).length === 2, 10_000);
    const began = performance.now();
    const waits = Array.from({ length: 44 }, async () => {
      const { status } = await account.call('hash-text', { text: 'x'.repeat(70_000) });
      t.true(status === 503 || status === 429, `${status}`);
      return performance.now() - began;
    });
    // Half of `POOL_WAIT` for a place in the pool, at least twice as long for one among the twelve.
    t.true(Math.max(...(await Promise.all(waits))) >= 7400);
    await Promise.all(running);
    await stack.restart('cpu');
    t.deepEqual(await auditWhenIdle(store), []);
  },
);
