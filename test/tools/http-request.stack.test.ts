import { createServer, type ServerResponse } from 'node:http';
import test from 'ava';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { listen } from '../helpers/egress.ts';
import { auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** Responses of the target that the test has not sent yet, by request path. */
const asked = new Map<string, ServerResponse[]>();
const timesAsked = (path: string): number => asked.get(path)?.length ?? 0;
const answerAll = (path: string): void => {
  for (const response of asked.get(path) ?? []) response.end('done');
};
const target = createServer((request, response) => {
  const path = `${request.method} ${request.url}`;
  asked.set(path, [...(asked.get(path) ?? []), response]);
});

let port: number;
let stack: Stack;
let store: Store;
test.before(async () => {
  port = await listen(target);
  stack = await startStack({
    pools: ['orchestrator', 'network'],
    env: { EGRESS_ALLOW: `127.0.0.1:${port}` },
  });
  store = await openStore(stack.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
  target.close();
  target.closeAllConnections();
});

/** Starts a call that the test can disconnect. */
async function begin(method: string, path: string) {
  const account = await makeAccount(stack, 10);
  const phone = new AbortController();
  const response = fetch(`${stack.baseUrl}/api/v1/tools/http-request`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.toolsKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ method, url: `http://127.0.0.1:${port}${path}` }),
    signal: phone.signal,
  });
  await until('the target is requested', async () => timesAsked(`${method} ${path}`) === 1);
  const end = async () => ({
    drift: await auditWhenIdle(store),
    calls: (await callsOf(store, account.accountId)).map(({ state, charged }) => ({ state, charged })),
  });
  return { response, hangUp: () => phone.abort(), end };
}

test.serial('a disconnect of the caller cancels requests with safe methods only', async (t) => {
  const [read, write] = [await begin('GET', '/hang-up'), await begin('POST', '/hang-up')];
  for (const { response, hangUp } of [read, write]) {
    hangUp();
    await t.throwsAsync(() => response, { name: 'AbortError' });
  }
  const socket = asked.get('GET /hang-up')?.[0]?.socket;
  await until('the GET request is cancelled', async () => socket?.destroyed ?? true);
  answerAll('POST /hang-up');
  t.deepEqual(await read.end(), { drift: [], calls: [{ state: 'refunded', charged: 0 }] });
  t.deepEqual(await write.end(), { drift: [], calls: [{ state: 'charged', charged: 2 }] });
});

test.serial(
  'after a worker dies, requests with safe methods are repeated and the others are not',
  async (t) => {
    const [read, write] = [await begin('GET', '/die'), await begin('POST', '/die')];
    await stack.kill('network');
    await stack.restart('network');
    await until('the GET request is repeated', async () => timesAsked('GET /die') === 2);
    answerAll('GET /die');
    t.like(await (await read.response).json(), { statusCode: 200, body: 'done' });
    t.true((await write.response).status >= 500);
    t.deepEqual(await read.end(), { drift: [], calls: [{ state: 'charged', charged: 2 }] });
    t.deepEqual(await write.end(), { drift: [], calls: [{ state: 'refunded', charged: 0 }] });
    t.is(timesAsked('POST /die'), 1);
  },
);
