import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { listenAsTarget, type Stack, startStack, TARGET_HOST } from '../helpers/stack.ts';

/** A response body in which JSON takes six bytes per character, more than the socket buffers hold. */
const LARGE = '\u0001'.repeat(3_000_000);
/** Requests whose documents together exceed the memory that an API process has for responses. */
const REQUESTS = 190;

let stack: Stack;
let account: TestAccount;
/** URL at which http-request gets `LARGE`. */
let large: string;

const target = createServer((_request, response) =>
  response.setHeader('Content-Type', 'text/plain').end(LARGE),
);

test.before(async () => {
  large = `http://${await listenAsTarget(target)}/`;
  const env = { RATE_LIMIT: '20:40', EGRESS_ALLOW: `${TARGET_HOST}/32` };
  stack = await startStack({ pools: ['orchestrator', 'cpu', 'network'], env });
  account = await makeAccount(stack, 1000);
});
test.after.always(async () => {
  await stack?.stop();
  target.close();
});

async function open(bytes: string): Promise<Socket> {
  const { hostname, port } = new URL(stack.baseUrl);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

test.serial('requests for documents do not interrupt the results of others', async (t) => {
  const response = await account.call('http-request', { url: large });
  t.is(response.status, 200);
  const reader = response.body?.getReader();
  await reader?.read();
  // Asks for the same large document again and again, and reads nothing.
  const request = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n';
  const sockets: Socket[] = [];
  for (const count of [REQUESTS, 10, 10, 10]) {
    const socket = await open(request.repeat(count));
    sockets.push(socket.pause());
  }
  t.is((await account.call('hash-text', { text: 'the API has read the requests' })).status, 200);
  let bytes = 0;
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read())
    bytes += part.value.length;
  t.true(bytes > 6 * LARGE.length - 1_000_000, `${bytes} bytes`);
  for (const socket of sockets) socket.destroy();
});
