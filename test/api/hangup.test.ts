import { readFile } from 'node:fs/promises';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowFailedError } from '@temporalio/client';
import test from 'ava';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle, callsOf, untilHeld } from '../helpers/ledgerCheck.ts';
import { seededRandom } from '../helpers/random.ts';
import { listenAsTarget, type Stack, startStack, TARGET_HOST } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const RACES = 30;
/** Number of callers that disconnect as soon as their request is sent. */
const HASTY = 20;

let stack: Stack;
let store: Store;
let client: Client;

test.before(async () => {
  const env = { POOL_WAIT: '80s', EGRESS_ALLOW: `${TARGET_HOST}/32` };
  stack = await startStack({ apis: 2, pools: ['orchestrator', 'cpu', 'network'], env });
  store = await openStore(stack.mongodbUri);
  const settings = readEnv(stack.env);
  client = await connectClient(settings, loadKeyring(settings));
});
test.after.always(async () => {
  await client?.connection.close();
  await store?.close();
  await stack?.stop();
});

interface Call {
  hangUp(): void;
  /** Resolves with the status, or with null if the connection ended before a status arrived. */
  status: Promise<number | null>;
  sent: Promise<void>;
}

/** Calls a tool on a new connection, which the test can close. */
function call(account: TestAccount, tool: string, body: unknown, more: Record<string, string> = {}): Call {
  const text = JSON.stringify(body);
  const headers = {
    Authorization: `Bearer ${account.toolsKey}`,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(text)),
    ...more,
  };
  const url = `${stack.baseUrl}/api/v1/tools/${tool}`;
  const sent = request(url, { method: 'POST', headers, agent: new Agent() });
  const { promise: status, resolve } = Promise.withResolvers<number | null>();
  sent.on('response', (response) => {
    response.resume().on('error', () => resolve(null));
    response.on('end', () => resolve(response.statusCode ?? null));
  });
  sent.on('error', () => resolve(null));
  return {
    status,
    hangUp: () => sent.destroy(),
    sent: new Promise((done) => sent.end(text, () => done())),
  };
}

/** Returns the errors in the API's log. Disconnects are normal and must not be logged as errors. */
async function loggedFaults(): Promise<string[]> {
  const log = await readFile(join(stack.dataDir, 'logs', 'api.log'), 'utf8');
  return log.split('\n').filter((line) => line.includes('"level":50'));
}

/** Returns how many requests for tools the API has finished, whatever became of them. */
async function finishedRequests(): Promise<number> {
  const metrics = await (await fetch(`${stack.internalUrl}/metrics`)).text();
  const counts = metrics.matchAll(
    /^utility_tools_http_request_seconds_count\{[^}]*route="\/api\/v1\/tools\/:tool"[^}]*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

const endOf = async (accountId: string) => {
  await auditWhenIdle(store);
  return (await callsOf(store, accountId)).map(({ state, code, charged }) => ({ state, code, charged }));
};

test.serial('without an Idempotency-Key, a disconnect cancels the call and refunds it', async (t) => {
  // Enough credits for all calls of the test to hold their price at the same time.
  const credits = 30;
  const account = await makeAccount(stack, credits);
  await stack.kill('cpu');
  const waiting = call(account, 'hash-text', { text: 'gone' });
  await untilHeld(store, account.accountId, 1);
  waiting.hangUp();
  t.is(await waiting.status, null);
  t.deepEqual(await endOf(account.accountId), [{ state: 'refunded', code: 'cancelled', charged: 0 }]);
  t.is((await accountOf(store, account.accountId)).balance, credits);
  const [row] = await callsOf(store, account.accountId);
  const ended = await t.throwsAsync(client.workflow.getHandle(row?._id ?? '').result(), {
    instanceOf: WorkflowFailedError,
  });
  t.like(ended.cause, { type: 'cancelled' });

  // These callers disconnect as soon as the request is sent; none of the calls may keep running.
  const finished = await finishedRequests();
  const hasty = Array.from({ length: HASTY }, () => call(account, 'hash-text', { text: 'hasty' }));
  await Promise.all(hasty.map(({ sent }) => sent));
  for (const { hangUp } of hasty) hangUp();
  await Promise.all(hasty.map(({ status }) => status));
  await until('every request is finished', async () => (await finishedRequests()) === finished + HASTY);
  const ends = await endOf(account.accountId);
  t.deepEqual([...new Set(ends.map(({ code }) => code))], ['cancelled']);
  t.true(ends.every(({ state }) => state === 'refunded' || state === 'refused'));
  t.is((await accountOf(store, account.accountId)).balance, credits);
  await stack.restart('cpu');
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('with an Idempotency-Key, a call continues after a disconnect', async (t) => {
  const account = await makeAccount(stack, 5);
  await stack.kill('cpu');
  const waiting = call(account, 'hash-text', { text: 'later' }, { 'Idempotency-Key': 'k' });
  await untilHeld(store, account.accountId, 1);
  waiting.hangUp();
  await waiting.status;
  await stack.restart('cpu');
  t.deepEqual(await endOf(account.accountId), [{ state: 'charged', code: null, charged: 1 }]);
  const replay = await account.call('hash-text', { text: 'later' }, { 'Idempotency-Key': 'k' });
  t.is(replay.status, 200);
  t.is(replay.headers.get('Idempotent-Replayed'), 'true');
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('with secret inputs, a disconnect cancels the call despite an Idempotency-Key', async (t) => {
  const account = await makeAccount(stack, 5);
  await stack.kill('cpu');
  const body = { password: 'correct horse', workFactor: 4 };
  const waiting = call(account, 'bcrypt-hash', body, { 'Idempotency-Key': 'k' });
  await untilHeld(store, account.accountId, 1);
  waiting.hangUp();
  await waiting.status;
  t.deepEqual(await endOf(account.accountId), [{ state: 'refunded', code: 'cancelled', charged: 0 }]);
  await stack.restart('cpu');
  const again = await account.call('bcrypt-hash', body, { 'Idempotency-Key': 'k' });
  t.is(again.status, 200);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial(
  'a disconnect cancels a request with side effects only while it waits for a worker',
  async (t) => {
    const requested: string[] = [];
    const hungUp = Promise.withResolvers<void>();
    const target = createServer(async (received, response) => {
      requested.push(received.url ?? '');
      await hungUp.promise;
      // The time in which a wrong cancellation would end the request.
      setTimeout(() => response.end('done'), 1000);
    });
    t.teardown(() => target.close());
    const url = `http://${await listenAsTarget(target)}`;
    const account = await makeAccount(stack, 10);
    const post = (path: string) => call(account, 'http-request', { url: `${url}${path}`, method: 'POST' });

    const started = post('/started');
    await until('the request was sent', async () => requested.length === 1);
    started.hangUp();
    hungUp.resolve();
    t.deepEqual(await endOf(account.accountId), [{ state: 'charged', code: null, charged: 2 }]);

    await stack.kill('network');
    const waiting = post('/waiting');
    await untilHeld(store, account.accountId, 1);
    waiting.hangUp();
    t.deepEqual((await endOf(account.accountId))[1], { state: 'refunded', code: 'cancelled', charged: 0 });
    await stack.restart('network');
    t.is((await account.call('http-request', { url: `${url}/next`, method: 'POST' })).status, 200);
    t.deepEqual(requested, ['/started', '/next']);
    t.deepEqual(await auditWhenIdle(store), []);
  },
);

test.serial(
  'a disconnect at the moment when the tool ends leads to either a charge or a refund, never both',
  async (t) => {
    const random = seededRandom(t.log);
    const account = await makeAccount(stack, 1000);
    const began = performance.now();
    t.is((await account.call('hash-text', { text: 'alone' })).status, 200);
    // Some callers disconnect before the end of their call and some after it.
    const longest = Math.ceil(2 * (performance.now() - began));
    for (let race = 0; race < RACES; race++) {
      const running = call(account, 'hash-text', { text: `race ${race}` });
      await sleep(random.integer(0, longest));
      running.hangUp();
      await running.status;
    }
    t.deepEqual(await auditWhenIdle(store), []);
    const rows = await callsOf(store, account.accountId);
    const charged = rows.filter(({ state }) => state === 'charged').length;
    t.log(`${rows.length} accepted, ${charged} charged`);
    t.true(rows.every(({ state, code }) => (state === 'charged') === (code === null)));
    t.true(rows.every(({ code }) => code === null || code === 'cancelled'));
    // A result that did not leave before the disconnect is returned.
    const { accountId } = account;
    await until('every response is settled', async () => {
      const open = await store.calls.countDocuments({ accountId, pendingAnswer: { $exists: true } });
      return open === 0;
    });
    const returned = await store.entries.countDocuments({ accountId, reference: /^call / });
    const { balance, running } = await accountOf(store, accountId);
    t.is(balance, 1000 - charged + returned);
    t.is(running.cpu, 0);
    const lines = await store.entries.countDocuments({ accountId, type: 'charge' });
    t.is(lines, charged);
  },
);

test.serial('a disconnect before the request body is complete leaves no call behind', async (t) => {
  const account = await makeAccount(stack, 5);
  const { hostname, port } = new URL(stack.baseUrl);
  for (const body of ['', '{"text":', '{"text":"a"}']) {
    const socket = connect({ host: hostname, port: Number(port) });
    const head = [
      'POST /api/v1/tools/hash-text HTTP/1.1',
      `Host: ${hostname}`,
      `Authorization: Bearer ${account.toolsKey}`,
      'Content-Type: application/json',
      'Content-Length: 1000',
    ];
    await new Promise((sent) => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`, sent));
    // A later response shows that the API has had time to read the head.
    t.is((await fetch(`${stack.baseUrl}/livez`)).status, 200);
    const closed = new Promise((done) => socket.once('close', done));
    socket.destroy();
    await closed;
  }
  t.is((await account.call('hash-text', { text: 'alive' })).status, 200);
  t.is((await callsOf(store, account.accountId)).length, 1);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('disconnects are not logged as errors', async (t) => {
  t.deepEqual(await loggedFaults(), []);
});

test.serial('a body that exceeds its limit while it arrives is refused with a response', async (t) => {
  const account = await makeAccount(stack, 5);
  const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { Authorization: `Bearer ${account.toolsKey}`, 'Content-Type': 'application/json' };
  const sent = request(`${stack.baseUrl}/api/v1/tools/hash-text`, { method: 'POST', headers }, resolve);
  sent.on('error', reject);
  // A chunked body has no declared length; this one is never completed.
  for (let i = 0; i < 11; i++) sent.write(Buffer.alloc(100_000, 'x'));
  const response = await answered;
  t.is(response.statusCode, 413);
  t.like(JSON.parse(Buffer.concat(await response.toArray()).toString()), { code: 'body_too_large' });
  sent.destroy();
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('an API process that is being stopped still answers running calls', async (t) => {
  const account = await makeAccount(stack, 5);
  const other = account.at(stack.baseUrls[1] ?? '');
  await stack.kill('cpu');
  const answer = other.call('hash-text', { text: 'last' });
  await untilHeld(store, account.accountId, 1);
  const ended = stack.kill('api-2', 'SIGTERM');
  // Not a call, which would wait for a worker if it were accepted before the signal is handled.
  await until('the API accepts no new connection', () =>
    fetch(`${stack.baseUrls[1]}/api/v1/tools`)
      .then((response) => response.text())
      .then(
        () => false,
        () => true,
      ),
  );
  await stack.restart('cpu');
  t.is((await answer).status, 200);
  await ended;
  await stack.restart('api-2');
  t.is((await callsOf(store, account.accountId))[0]?.state, 'charged');
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('a workflow that an operator terminates is an internal error and refunded', async (t) => {
  const account = await makeAccount(stack, 5);
  await stack.kill('cpu');
  const answer = account.call('hash-text', { text: 'ended' });
  await untilHeld(store, account.accountId, 1);
  const [row] = await callsOf(store, account.accountId);
  await client.workflow.getHandle(row?._id ?? '').terminate('by the operator');
  const response = await answer;
  t.is(response.status, 500);
  t.like(await response.json(), { code: 'internal', requestId: response.headers.get('X-Request-Id') });
  t.is(response.headers.get('X-Credits-Charged'), '0');
  t.is(response.headers.get('X-Credits-Remaining'), '5');
  t.deepEqual(await endOf(account.accountId), [{ state: 'refunded', code: 'internal', charged: 0 }]);
  await stack.restart('cpu');
  t.deepEqual(await auditWhenIdle(store), []);
});
