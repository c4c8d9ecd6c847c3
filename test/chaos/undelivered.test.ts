import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { startService } from '../../dev/stack.ts';
import { audit } from '../../store/ledger/audit.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { newOwner } from '../helpers/dashboard.ts';
import { listen } from '../helpers/egress.ts';
import { accountOf, callsOf, untilHeld } from '../helpers/ledgerCheck.ts';
import { startStack } from '../helpers/stack.ts';
import { startToxiproxy } from '../helpers/toxiproxy.ts';
import { until } from '../helpers/until.ts';

const CREDITS = 100;
const PRICE = 2;
/** Number of calls whose results arrive before the API process is killed; they stay charged. */
const ANSWERED = 10;
/** Milliseconds after the API process was killed within which all calls must be settled. */
const LIVENESS_MS = 60_000;
/**
 * A response body in which JSON takes six bytes per character, far more than the socket buffers between API and caller
 * hold.
 */
const LARGE = '\u0001'.repeat(5_000_000);

test('after kill -9 of the API, unanswered calls are refunded and answered calls stay charged', async (t) => {
  t.timeout(300_000);
  await using open = new AsyncDisposableStack();
  /** Requests that the target has received and not yet answered, by path. */
  const held = new Map<string, ServerResponse>();
  const target = createServer((incoming, response) => {
    const { url = '' } = incoming.resume();
    response.setHeader('Content-Type', 'text/plain');
    if (url === '/now') response.end('here it is');
    else if (url === '/large') response.end(LARGE);
    else held.set(url, response);
  });
  open.defer(() => {
    target.closeAllConnections();
    target.close();
  });
  const origin = `127.0.0.1:${await listen(target)}`;
  const stack = open.adopt(
    await startStack({ pools: ['orchestrator', 'network'], env: { EGRESS_ALLOW: origin } }),
    (it) => it.stop(),
  );
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const { links } = open.adopt(
    await startToxiproxy({ temporal: stack.temporalAddress }, (line) => t.log(line)),
    (it) => it.stop(),
  );
  // A second API process, which the test kills; its connection to Temporal can be cut.
  const killedApi = open.adopt(
    await startService({
      env: { ...stack.env, PORT: '0', INTERNAL_PORT: '0', TEMPORAL_ADDRESS: links.temporal.address },
      pools: [],
      logDir: join(stack.dataDir, 'killed-api'),
      log: (line) => t.log(line),
    }),
    (it) => it.stop(),
  );
  const fields = (path: string, method: string) => ({ url: `http://${origin}${path}`, method });
  /** Makes a call through that API process. Returns null when the connection broke. */
  const call = (account: TestAccount, path: string, method = 'GET') =>
    account
      .at(killedApi.baseUrl)
      .call('http-request', fields(path, method))
      .catch(() => null);
  const isCharged = async (accountId: string) =>
    (await callsOf(store, accountId)).some(({ state }) => state === 'charged');

  const answered = await makeAccount(stack, CREDITS);
  for (let i = 0; i < ANSWERED; i++) t.is((await call(answered, '/now'))?.status, 200);

  const sending = await makeAccount(stack, CREDITS);
  const headers = { Authorization: `Bearer ${sending.toolsKey}`, 'Content-Type': 'application/json' };
  const slowReader = request(`${killedApi.baseUrl}/api/v1/tools/http-request`, { method: 'POST', headers });
  open.defer(() => {
    slowReader.destroy();
  });
  slowReader.on('error', () => undefined);
  slowReader.end(JSON.stringify(fields('/large', 'GET')));
  // Waits only for the response head; the body is never read, so the response stays incomplete.
  await once(slowReader, 'response');

  const [waiting, late, acting, unreported] = await Promise.all(
    Array.from({ length: 4 }, () => makeAccount(stack, CREDITS)),
  );
  if (waiting === undefined || late === undefined || acting === undefined || unreported === undefined)
    throw new Error('no account');
  const owner = await newOwner({ baseUrl: killedApi.baseUrl });
  const user = await store.accounts.findOne({ email: owner.email });
  if (user === null) throw new Error('no account');
  const cut = [
    call(waiting, '/waiting'),
    call(late, '/late'),
    call(acting, '/acting', 'POST'),
    call(unreported, '/unreported'),
    owner.post('/tools/http-request', fields('/dashboard', 'GET')).catch(() => null),
  ];
  for (const { accountId } of [waiting, late, acting, unreported]) await untilHeld(store, accountId, 1);
  await until('the target has received all requests', async () => held.size === cut.length);

  // The calls on these paths are charged, but the API does not learn of it, because it cannot reach Temporal.
  await links.temporal.cut();
  for (const path of ['/unreported', '/dashboard']) held.get(path)?.end('here it is');
  for (const accountId of [unreported.accountId, user._id])
    await until('the call is charged', () => isCharged(accountId));
  await killedApi.kill('api');
  t.deepEqual(await Promise.all(cut), [null, null, null, null, null], 'all connections broke');
  for (const path of ['/late', '/acting']) held.get(path)?.end('here it is');

  const expected = new Map([
    [answered.accountId, CREDITS - ANSWERED * PRICE],
    [sending.accountId, CREDITS],
    [waiting.accountId, CREDITS],
    [late.accountId, CREDITS],
    [acting.accountId, CREDITS - PRICE],
    [unreported.accountId, CREDITS],
    [user._id, user.balance],
  ]);
  const balances = async () => {
    const rows = [...expected.keys()].map(async (id) => {
      const { balance, reserved } = await accountOf(store, id);
      return [id, reserved === 0 ? balance : null] as const;
    });
    return new Map(await Promise.all(rows));
  };
  const isSettled = async () => {
    const now = await balances();
    return [...expected].every(([id, balance]) => now.get(id) === balance);
  };
  const killed = Date.now();
  await until('all calls are settled', isSettled, LIVENESS_MS).catch((error) => t.log(String(error)));
  t.log(`settled after ${Date.now() - killed} ms`);
  t.deepEqual(await balances(), expected);
  t.deepEqual((await audit(store)).drift, []);
  // Once no answer is pending, the sweeper can refund nothing more, so the balances are final.
  const left = () => store.calls.countDocuments({ pendingAnswer: { $exists: true } });
  await until('no answer is pending', async () => (await left()) === 0, LIVENESS_MS);
  t.deepEqual(await balances(), expected);
});
