import test from 'ava';
import { createFairSemaphore, createSemaphorePerHolder } from '../../platform/semaphores.ts';

const never = new AbortController().signal;

test('accounts get free slots in turn, and the tasks of an account keep their order', async (t) => {
  const queue = createFairSemaphore(1);
  const first = await queue.acquire('a', never);
  const started: string[] = [];
  const tasks = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(async (name) => {
    using _slot = await queue.acquire(name.charAt(0), never);
    started.push(name);
  });
  first[Symbol.dispose]();
  await Promise.all(tasks);
  t.deepEqual(started, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('a free slot goes to the account that holds the fewest slots', async (t) => {
  const queue = createFairSemaphore(4);
  const flood = await Promise.all(['a', 'a', 'a', 'b'].map((account) => queue.acquire(account, never)));
  t.deepEqual(
    flood.map(({ held }) => held),
    [1, 2, 3, 1],
  );
  const started: string[] = [];
  const waiting = ['a', 'a', 'b', 'c'].map(async (account) => {
    const { held } = await queue.acquire(account, never);
    started.push(`${account} has ${held}`);
  });
  for (const slot of flood) {
    slot[Symbol.dispose]();
    await new Promise(setImmediate);
  }
  await Promise.all(waiting);
  t.deepEqual(started, ['c has 1', 'a has 2', 'b has 2', 'a has 2']);
});

test('no more tasks run at the same time than there are slots, and one account can use all slots', async (t) => {
  const queue = createFairSemaphore(3);
  let running = 0;
  let most = 0;
  const task = async () => {
    using _slot = await queue.acquire('a', never);
    most = Math.max(most, ++running);
    await new Promise(setImmediate);
    running--;
  };
  await Promise.all(Array.from({ length: 50 }, task));
  t.is(most, 3);
  t.is(running, 0);
});

test('reserved slots go to accounts without a slot, while others wait for the rest', async (t) => {
  const queue = createFairSemaphore(4, 1);
  const taken: string[] = [];
  const take = async (account: string) => {
    const slot = await queue.acquire(account, never);
    taken.push(account);
    return slot;
  };
  const flood = ['a', 'b', 'a', 'a', 'b'].map(take);
  const first = await take('c');
  t.deepEqual(taken, ['a', 'b', 'a', 'c']);
  first[Symbol.dispose]();
  await (await take('d'))[Symbol.dispose]();
  t.deepEqual(taken, ['a', 'b', 'a', 'c', 'd']);
  (await flood[0])?.[Symbol.dispose]();
  await Promise.all([flood[3], flood[4]].map(async (slot) => (await slot)?.[Symbol.dispose]()));
  t.deepEqual(taken.slice(5).sort(), ['a', 'b']);
});

test('an aborted wait throws the reason of the signal and takes no slot', async (t) => {
  const queue = createFairSemaphore(1);
  const first = await queue.acquire('a', never);
  const abort = new AbortController();
  const aborted = queue.acquire('b', abort.signal);
  const next = queue.acquire('c', never);
  abort.abort(new Error('disconnected'));
  await t.throwsAsync(aborted, { message: 'disconnected' });
  await t.throwsAsync(queue.acquire('b', abort.signal), { message: 'disconnected' });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  const second = await next;
  const third = queue.acquire('d', never);
  second[Symbol.dispose]();
  (await third)[Symbol.dispose]();
});

test('fewer slots let running tasks continue, and more slots start waiting ones', async (t) => {
  const queue = createFairSemaphore(2);
  const running = [await queue.acquire('a'), await queue.acquire('a')];
  queue.resize(1);
  const started: string[] = [];
  const waiting = ['b1', 'b2', 'b3'].map(async (name) => {
    await queue.acquire('b');
    started.push(name);
  });
  running[0]?.[Symbol.dispose]();
  await new Promise(setImmediate);
  t.deepEqual(started, [], 'one task still runs, and there is one slot');
  running[1]?.[Symbol.dispose]();
  await new Promise(setImmediate);
  t.deepEqual(started, ['b1']);
  queue.resize(3);
  await Promise.all(waiting);
  t.deepEqual(started, ['b1', 'b2', 'b3']);
});

test('holders with slots of their own do not wait for each other', async (t) => {
  const slots = createSemaphorePerHolder(1);
  const a = await slots.acquire('a');
  const b = await slots.acquire('b');
  const abort = new AbortController();
  const aborted = slots.acquire('a', abort.signal);
  let isNext = false;
  const next = slots.acquire('a').then((slot) => {
    isNext = true;
    return slot;
  });
  abort.abort(new Error('disconnected'));
  await t.throwsAsync(aborted, { message: 'disconnected' });
  b[Symbol.dispose]();
  await new Promise(setImmediate);
  t.false(isNext);
  a[Symbol.dispose]();
  a[Symbol.dispose]();
  const held = await next;
  let isLast = false;
  const last = slots.acquire('a').then(() => {
    isLast = true;
  });
  await new Promise(setImmediate);
  t.false(isLast, 'a slot that is disposed of twice is free once');
  held[Symbol.dispose]();
  await last;
});
