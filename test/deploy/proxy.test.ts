import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { startCaddy } from '../helpers/caddy.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** Number of requests of a client address that may be in progress. */
const PER_ADDRESS = 8;

let stack: Stack;
let proxy: Awaited<ReturnType<typeof startCaddy>>;
const sockets: Socket[] = [];

test.before(async (t) => {
  const env = { TRUST_PROXY: 'true', RATE_LIMIT: '20:40', CONNECTIONS_PER_ADDRESS: String(PER_ADDRESS) };
  stack = await startStack({ pools: [], env });
  proxy = await startCaddy(new URL(stack.baseUrl).host, (line) => t.log(line));
});
test.after.always(async () => {
  for (const socket of sockets) socket.destroy();
  await proxy?.stop();
  await stack?.stop();
});

/** A connection from a loopback address to the proxy. */
async function open(localAddress: string): Promise<Socket> {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** Sends a request on a connection. Returns the status of the response. */
async function statusOf(socket: Socket, path: string, headers = ''): Promise<string | undefined> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost:${proxy.port}\r\n${headers}\r\n`);
  const [answer] = await once(socket, 'data');
  return /^HTTP\/1\.1 (\d+)/.exec(String(answer))?.[1];
}

/** Sends a request whose body stays incomplete, so that it is in progress until the connection ends. */
async function hold(localAddress: string): Promise<Socket> {
  const socket = await open(localAddress);
  const head = ['POST /api/auth/sign-in/email HTTP/1.1', `Host: localhost:${proxy.port}`];
  const body = ['Content-Type: application/json', 'Content-Length: 100', '', '{'];
  socket.write([...head, ...body].join('\r\n'));
  return socket;
}

test('behind the proxy, each client address may have some requests in progress, however many all have together', async (t) => {
  const greedy = ['127.0.2.1', '127.0.2.2', '127.0.2.3'];
  const clients = await Promise.all(
    greedy.map(async (address) => {
      const held = await Promise.all(Array.from({ length: PER_ADDRESS }, () => hold(address)));
      return { held, next: await open(address) };
    }),
  );
  for (const { next } of clients)
    await until('the held requests are in progress', async () => (await statusOf(next, '/livez')) === '429');
  for (const { held, next } of clients) {
    t.is(await statusOf(next, '/livez', 'X-Forwarded-For: 192.0.2.1\r\n'), '429', 'a forged address');
    t.is(await statusOf(next, '/livez', 'Forwarded: for=192.0.2.1\r\n'), '429', 'a forged address');
    t.false(held.some(({ readableEnded, destroyed }) => readableEnded || destroyed));
  }
  const others = await Promise.all(
    Array.from({ length: 3 * PER_ADDRESS }, (_, index) => open(`127.0.3.${index + 1}`)),
  );
  for (let round = 0; round < 2; round++)
    t.deepEqual([...new Set(await Promise.all(others.map((it) => statusOf(it, '/livez'))))], ['200']);
  const [first] = clients;
  first?.held[0]?.destroy();
  await until(
    'a request has ended',
    async () => first !== undefined && (await statusOf(first.next, '/livez')) === '200',
  );
});
