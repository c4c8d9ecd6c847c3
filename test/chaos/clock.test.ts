import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { recordAt } from '../helpers/json.ts';
import { accountOf, auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { callOnce, callUntilResult } from './calls.ts';
import { createClock } from './clock.ts';
import { restart, sendSignal } from './faults.ts';

/** Number of concurrent calls with the same Idempotency-Key. */
const IDENTICAL = 50;
/** Number of calls without an Idempotency-Key. */
const UNKEYED = 5;
const CREDITS = 1000;
/**
 * Offsets in seconds to which the clocks of API and workers jump, one after the other; the clocks of MongoDB and
 * Temporal stay correct. They are below 24 hours, because idempotency keys expire after 24 hours and a repeated call
 * would then be a new call.
 */
const JUMPS = [3600, -3600, 36_000, 0];

test('when the clocks of API and workers jump during calls, all calls end and are charged once', async (t) => {
  t.timeout(300_000);
  await using open = new AsyncDisposableStack();
  const { env, jumpTo } = await createClock(open);
  const stack = open.adopt(await startStack({ pools: ['orchestrator', 'cpu'], env }), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, CREDITS);

  /** Returns by how many seconds the API's clock differs from the clock of this process. */
  const offset = async () => {
    const { headers } = await fetch(`${stack.baseUrl}/livez`);
    return (Date.parse(headers.get('Date') ?? '') - Date.now()) / 1000;
  };

  let charged = 0;
  for (const [number, jump] of JUMPS.entries()) {
    const key = `jump-${number}`;
    const identical = Array.from({ length: IDENTICAL }, () => callUntilResult(account, key, key));
    const unkeyed = Array.from({ length: UNKEYED }, (_, i) => callOnce(account, `${key} ${i}`, null));
    await sleep(100);
    await jumpTo(jump);
    // Node caches the Date header for up to one second of monotonic time, so the jump may appear late.
    await until('the clock has jumped', async () => Math.abs((await offset()) - jump) < 60);
    const bodies = new Set(await Promise.all(identical));
    t.is(bodies.size, 1, `${jump} s: identical calls get identical bodies`);
    t.false(bodies.has(null), `${jump} s: identical calls get their result`);
    const responses = await Promise.all(unkeyed);
    t.false(
      responses.some((response) => response?.status === 500),
      `${jump} s: no call fails with an internal error`,
    );
    const succeeded = responses.filter((response) => response?.status === 200).length;
    t.deepEqual(
      await auditWhenIdle(store),
      [],
      `${jump} s: all calls have ended and the ledger is consistent`,
    );
    const rows = (await callsOf(store, account.accountId)).filter(({ state }) => state === 'charged');
    t.is(
      rows.filter((row) => row.idempotency?.key === key).length,
      1,
      `${jump} s: one charge for ${IDENTICAL}`,
    );
    const more = rows.length - charged - 1;
    t.true(
      more >= succeeded && more <= UNKEYED,
      `${jump} s: ${more} unkeyed calls charged, ${succeeded} of them answered`,
    );
    charged = rows.length;
  }
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - charged);
});

test('events are delivered while the clocks of API and workers are wrong and after they are corrected', async (t) => {
  t.timeout(300_000);
  await using open = new AsyncDisposableStack();
  const { env, jumpTo } = await createClock(open);
  const receiver = open.adopt(await startReceiver(), (it) => it.close());
  const stack = open.adopt(await startStack({ pools: ['orchestrator', 'delivery'], env }), (it) => it.stop());
  const account = await makeAccount(stack, CREDITS);
  const post = async (path: string, body: Record<string, unknown>) => {
    const response = await account.manage(`/api/v1/account/${path}`, body);
    t.is(response.status, 201);
  };
  const createKey = (name: string) => post('keys', { name, scopes: ['tools'] });
  const isReceived = (name: string) =>
    receiver.received.some(({ body }) => recordAt(JSON.parse(body), 'data').name === name);

  await jumpTo(3600);
  await post('webhooks', { url: receiver.url });
  for (const [name, jump] of Object.entries({ ahead: 3600, correct: 0, behind: -3600 })) {
    await jumpTo(jump);
    await createKey(name);
    await t.notThrowsAsync(until(`the event of ${name}`, async () => isReceived(name)));
  }
  await stack.kill('orchestrator');
  await jumpTo(3600);
  await createKey('later');
  await jumpTo(0);
  await stack.restart('orchestrator');
  await t.notThrowsAsync(until('the later event is received', async () => isReceived('later')));
});

test('a call without a workflow ends although the API that accepted it was killed while its clock was ahead', async (t) => {
  t.timeout(300_000);
  await using open = new AsyncDisposableStack();
  const { env, jumpTo } = await createClock(open);
  const servers = open.adopt(await startOwnServers(), (it) => it.stop());
  const stack = open.adopt(await startStack({ servers, pools: ['orchestrator', 'cpu'], env }), (it) =>
    it.stop(),
  );
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, CREDITS);

  await sendSignal('temporal', 'SIGKILL', stack, servers);
  await jumpTo(3600);
  const response = callOnce(account, 'ahead', null);
  const states = async () => (await callsOf(store, account.accountId)).map(({ state }) => state);
  await until('the call is accepted', async () => (await states()).length === 1);
  await sendSignal('api', 'SIGKILL', stack, servers);
  t.is(await response, null);
  await jumpTo(0);
  await restart('temporal', stack, servers);
  await until('the call has ended', async () => (await states())[0] !== 'running', 120_000);
  t.deepEqual(await states(), ['refused'], 'it had reserved nothing');
  t.deepEqual(await auditWhenIdle(store), []);
  t.is((await accountOf(store, account.accountId)).balance, CREDITS);
});
