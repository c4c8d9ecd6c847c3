import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openStore } from '../../store/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, callsOf, closeBooks, until } from '../helpers/books.ts';
import { startStack } from '../helpers/stack.ts';
import { callOnce, insist } from './callers.ts';

const EQUAL = 50;
const CARELESS = 5;
const CREDITS = 1000;
/**
 * Seconds by which the clocks of API and workers jump; those of MongoDB and Temporal stay right. Less than the day that an
 * Idempotency-Key lasts, after which equal calls are new ones.
 */
const JUMPS = [3600, -3600, 36_000, 0];

test('the clocks of API and workers jump in the middle of calls: all ends, and is charged once', async (t) => {
  t.timeout(300_000);
  await using open = new AsyncDisposableStack();
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-clock-')), (it) =>
    rm(it, { recursive: true }),
  );
  const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
  if (library === undefined) throw new Error('there is no libfaketime');
  const clock = join(folder, 'clock');
  const jumpTo = (seconds: number) => writeFile(clock, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  await jumpTo(0);
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: '1',
    // A clock that counts from the start of the machine does not jump.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  const stack = open.adopt(await startStack({ pools: ['orchestrator', 'cpu'], env }), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, CREDITS);

  /** Seconds by which the API's clock differs from ours. */
  const offset = async () => {
    const { headers } = await fetch(`${stack.baseUrl}/livez`);
    return (Date.parse(headers.get('Date') ?? '') - Date.now()) / 1000;
  };

  let charged = 0;
  for (const [number, jump] of JUMPS.entries()) {
    const key = `jump-${number}`;
    const equal = Array.from({ length: EQUAL }, () => insist(account, key, key));
    const careless = Array.from({ length: CARELESS }, (_, i) => callOnce(account, `${key} ${i}`, null));
    await sleep(100);
    await jumpTo(jump);
    // Not at once: Node writes the same Date for up to a second, by a clock that does not jump.
    await until('the clock has jumped', async () => Math.abs((await offset()) - jump) < 60);
    const bodies = new Set(await Promise.all(equal));
    t.is(bodies.size, 1, `${jump} s: equal calls, equal bodies`);
    t.false(bodies.has(null), `${jump} s: they get their result`);
    const answers = await Promise.all(careless);
    const paid = answers.filter((answer) => answer?.status === 200).length;
    t.deepEqual(await closeBooks(store), [], `${jump} s: all has ended, and the books are right`);
    const rows = (await callsOf(store, account.accountId)).filter(({ state }) => state === 'charged');
    t.is(rows.filter((row) => row.idempotency?.key === key).length, 1, `${jump} s: one charge for ${EQUAL}`);
    const more = rows.length - charged - 1;
    t.true(more >= paid && more <= CARELESS, `${jump} s: ${more} others charged, ${paid} of them answered`);
    charged = rows.length;
  }
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - charged);
});
