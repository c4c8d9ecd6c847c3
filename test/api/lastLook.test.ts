import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { pino } from 'pino';
import { createCallRunner, policyOf } from '../../api/calls.ts';
import { readEnv } from '../../schemas/env.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { createCalls } from '../../store/calls.ts';
import { loadKeyring } from '../../store/keyring.ts';
import { createLedger } from '../../store/ledger.ts';
import { openStore } from '../../store/mongo.ts';
import { createVault } from '../../store/vault.ts';
import { connectClient } from '../../workers/temporal.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, callsOf, closeBooks } from '../helpers/books.ts';
import { startStack } from '../helpers/stack.ts';
import { startToxiproxy } from '../helpers/toxiproxy.ts';

/** Of its way to Temporal, after the call was given up: far longer than the API would look at least. */
const STILL_CUT_MS = 5000;
const WORK_MS = 5000;
const POOL_WAIT = 1000;
/** What the API waits beyond the work's own time, and a little. */
const OVERHEAD_MS = 7000;
/** From the healed way to the answer; a client that backs off as by default needs twice as long. */
const SOON_MS = 10_000;

test('a call is charged while the API is cut off from Temporal: its caller gets the result when the way is free again', async (t) => {
  t.timeout(180_000);
  await using open = new AsyncDisposableStack();
  const asked = Promise.withResolvers<ServerResponse>();
  const target = createServer((_, response) => asked.resolve(response)).listen(0, '127.0.0.1');
  await once(target, 'listening');
  open.defer(() => {
    target.closeAllConnections();
    target.close();
  });
  const address = target.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const stack = open.adopt(
    await startStack({ pools: ['orchestrator', 'network'], env: { EGRESS_ALLOW: `127.0.0.1:${port}` } }),
    (it) => it.stop(),
  );
  const { links } = open.adopt(
    await startToxiproxy({ temporal: stack.temporalAddress }, (line) => t.log(line)),
    (it) => it.stop(),
  );
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const env = { ...readEnv(stack.env), TEMPORAL_ADDRESS: links.temporal.address };
  const keyring = loadKeyring(env);
  const client = await connectClient(env, keyring, false);
  open.defer(() => client.connection.close());
  const ledger = open.adopt(
    createLedger(store, (error) => t.fail(String(error))),
    (it) => it.flush(),
  );
  const givenUp = Promise.withResolvers<void>();
  const runner = createCallRunner({
    client,
    calls: createCalls(store),
    ledger,
    vault: createVault(keyring),
    keyring,
    vaultUrl: 'http://127.0.0.1:1',
    limits: { RATE_LIMIT: null, POOL_WAIT },
    log: pino({}, { write: (line) => line.includes('call given up') && givenUp.resolve() }),
  });
  const account = await makeAccount(stack, 100);
  const tool = (await loadRegistry()).get('http-request');
  if (tool === undefined) throw new Error('no http-request');

  const limits = { workMs: WORK_MS };
  const { deadlineMs } = policyOf({ ...tool, limits }, false, { RATE_LIMIT: null, POOL_WAIT });
  const began = performance.now();
  const answer = runner.run({
    accountId: account.accountId,
    key: null,
    tool: { ...tool, limits },
    input: { url: `http://127.0.0.1:${port}/`, method: 'GET' },
    idempotencyKey: null,
    requestId: 'last-look',
    hangup: new AbortController().signal,
    admit: () => undefined,
  });
  const response = await asked.promise;
  await links.temporal.cut();
  response.end('here it is');
  await givenUp.promise;
  const waited = performance.now() - began;
  t.true(waited < deadlineMs + OVERHEAD_MS, `given up after ${waited} ms`);
  await sleep(STILL_CUT_MS);
  await links.temporal.heal();
  const healed = performance.now();
  const { ending } = await answer;
  const ms = performance.now() - healed;
  t.true(ms < SOON_MS, `${ms} ms`);
  t.true('result' in ending, JSON.stringify(ending));
  t.deepEqual(
    (await callsOf(store, account.accountId)).map(({ state }) => state),
    ['charged'],
  );
  t.deepEqual(await closeBooks(store), []);
  t.is((await accountOf(store, account.accountId)).balance, 100 - tool.price);
});
