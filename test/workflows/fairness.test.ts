import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import test from 'ava';
import { until } from '../helpers/books.ts';
import { type Call, NONCE, type Orchestra, OUTPUT, startOrchestra } from './orchestra.ts';

let orchestra: Orchestra;

test.before(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  orchestra = await startOrchestra();
});
test.after.always(async () => {
  await orchestra?.[Symbol.asyncDispose]();
});

/** A pool of its own whose worker has one slot and ends a job when told. */
async function startPool(pool: 'network' | 'heavy' | 'browser') {
  const worker = await orchestra.play(pool, 1);
  /** Account of each job, in the order in which they began. */
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const queue = `tools-${pool}`;
  let released = false;
  return {
    begun,
    /** @param running calls that the account has in the pool by then */
    start(accountId: string, running: number): Promise<Call> {
      const part = {
        reserve: async () => ({ status: 'held', nonce: NONCE, available: 93, running }) as const,
        async tool() {
          begun.push(accountId);
          if (!released) await new Promise<void>((end) => ends.push(end));
          return OUTPUT;
        },
      };
      return orchestra.call(part, { pool }, 'orchestrator', accountId);
    },
    untilQueued: (count: number) =>
      until(`${count} calls wait`, async () => (await orchestra.queued(queue)) === count, 60_000),
    /** Ends the running job, and waits until the next one has begun. */
    async next(): Promise<void> {
      const count = begun.length;
      ends.shift()?.();
      while (begun.length === count) await sleep(10);
    },
    async [Symbol.asyncDispose]() {
      released = true;
      for (const end of ends.splice(0)) end();
      await worker[Symbol.asyncDispose]();
    },
  };
}

test('a call waits for one job, not for the queue of another account', async (t) => {
  t.timeout(180_000);
  await using pool = await startPool('network');
  const long: Call[] = [];
  for (let i = 1; i <= 8; i++) long.push(await pool.start('flooder', i));
  await pool.untilQueued(7);
  const short = await pool.start('other', 1);
  await pool.untilQueued(8);
  await pool.next();
  t.deepEqual(pool.begun, ['flooder', 'other']);
  while (pool.begun.length < 9) await pool.next();
  t.is(pool.begun.filter((accountId) => accountId === 'flooder').length, 8);
  await pool[Symbol.asyncDispose]();
  await Promise.all([...long, short].map(({ handle }) => handle.result()));
});

test('an account with one call at a time does not wait for a round of ten with many', async (t) => {
  t.timeout(180_000);
  await using pool = await startPool('heavy');
  const calls: Call[] = [];
  for (let i = 1; i <= 5; i++)
    for (let account = 0; account < 10; account++) calls.push(await pool.start(`flooder ${account}`, i));
  await pool.untilQueued(49);
  for (let i = 0; i < 3; i++) {
    calls.push(await pool.start('other', 1));
    await pool.untilQueued(49 - pool.begun.length + 1 + 1 + i);
    const before = pool.begun.length;
    while (pool.begun.at(-1) !== 'other') await pool.next();
    t.true(pool.begun.length - before <= 3, `call ${i} was number ${pool.begun.length - before}`);
  }
  await pool[Symbol.asyncDispose]();
});

test('accounts with as many calls each get as many slots', async (t) => {
  t.timeout(180_000);
  await using pool = await startPool('browser');
  const calls: Call[] = [];
  for (const accountId of ['first', 'second', 'third'])
    for (let i = 1; i <= 6; i++) calls.push(await pool.start(accountId, i));
  await pool.untilQueued(17);
  while (pool.begun.length < 10) await pool.next();
  for (const accountId of ['first', 'second', 'third']) {
    const share = pool.begun.filter((each) => each === accountId).length;
    t.true(share >= 2 && share <= 5, `${accountId} had ${share} of ${pool.begun.length}`);
  }
  await pool[Symbol.asyncDispose]();
});
