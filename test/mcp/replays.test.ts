import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { callMessage, resultOf } from '../helpers/mcp.ts';
import { listenAsTarget, type Stack, startStack, TARGET_HOST } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const ACCOUNTS = 40;
/** Connections of each account that replay its result and read almost nothing of it. */
const CONNECTIONS = 6;
/**
 * Memory in MB that the API may take. It takes 400 MB before the attack and holds at most 256 MB of responses; without limits,
 * the attack took 3.9 GB.
 */
const MEMORY = 1200;
const LARGE = 'x'.repeat(5_000_000);

const target = createServer((_request, response) =>
  response.setHeader('Content-Type', 'text/plain').end(LARGE),
);
let stack: Stack;
let url: string;

test.before(async () => {
  url = `http://${await listenAsTarget(target)}/`;
  const env = { RATE_LIMIT: '100:200', EGRESS_ALLOW: `${TARGET_HOST}/32` };
  stack = await startStack({ pools: ['orchestrator', 'cpu', 'network'], env });
});
test.after.always(async () => {
  await stack?.stop();
  target.close();
});

const memory = (): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${stack.pid('api')}/status`, 'utf8'))?.[1]) / 1024;

/** The request of a call whose large result is replayed once it has been stored. */
function message({ toolsKey }: TestAccount): { headers: Record<string, string>; body: string } {
  const { headers, body } = callMessage('modern', 'http-request', { url }, { idempotencyKey: 'large' });
  return { headers: { ...headers, Authorization: `Bearer ${toolsKey}` }, body };
}

/** Sends the request on a connection that reads only the first part of the response. Resolves then, or when it is closed. */
async function replay(account: TestAccount): Promise<Socket> {
  const { hostname, port } = new URL(stack.baseUrl);
  const socket = connect({ port: Number(port), host: hostname }).on('error', () => undefined);
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  const { headers, body } = message(account);
  const fields = Object.entries({ ...headers, Host: hostname, 'Content-Length': body.length });
  socket.write(
    `POST /mcp HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  );
  await Promise.race([once(socket, 'data'), closed]);
  return socket.pause();
}

test('replays of large results that are hardly read take little memory', async (t) => {
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => makeAccount(stack, 1000)));
  for (const account of accounts) {
    const response = await fetch(`${stack.baseUrl}/mcp`, { method: 'POST', ...message(account) });
    t.truthy(resultOf(await response.text()).structuredContent);
  }
  const before = memory();
  let most = before;
  const sockets: Socket[] = [];
  let answered = 0;
  const attack = accounts.flatMap((account) =>
    Array.from({ length: CONNECTIONS }, async () => {
      sockets.push(await replay(account));
      answered++;
    }),
  );
  try {
    await until('every connection has a response', async () => {
      most = Math.max(most, memory());
      return answered === attack.length;
    });
    t.log(`${before.toFixed(0)} MB before, ${most.toFixed(0)} MB at most`);
    t.true(most < MEMORY, `${most} MB`);
    t.is((await accounts[0]?.call('hash-text', { text: 'afterwards' }))?.status, 200);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test('large results of an account are replayed with pauses, and those of another account beside them', async (t) => {
  const accounts = [await makeAccount(stack, 1000), await makeAccount(stack, 1000)];
  const read = async (account: TestAccount): Promise<void> => {
    const response = await fetch(`${stack.baseUrl}/mcp`, { method: 'POST', ...message(account) });
    t.truthy(resultOf(await response.text()).structuredContent);
  };
  for (const account of accounts) await read(account);
  const [many, single] = accounts;
  if (many === undefined || single === undefined) return t.fail();
  const started = performance.now();
  let left = 9;
  const done = Promise.all(Array.from({ length: left }, () => read(many).then(() => left--)));
  await read(single);
  t.true(left > 0, 'another account waits for none of them');
  await done;
  // Four at once, four after 1.8 s, and the last one after 3.6 s.
  t.true(performance.now() - started >= 3500, `${performance.now() - started} ms`);
});
