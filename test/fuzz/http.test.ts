import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { accountOf, auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** Number of idle connections to open. */
const IDLE = 10_000;
const CREDITS = 1000;
const RESPONSE_MS = 60_000;

let stack: SharedStack;
let store: Store;
let account: TestAccount;

test.before(async () => {
  stack = await useStack();
  store = await openStore(stack.mongodbUri);
  account = await makeAccount(stack, CREDITS);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

const open = async (): Promise<Socket> => {
  const { hostname, port } = new URL(stack.baseUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket.on('error', () => undefined);
};

/** Sends these bytes on a new connection. @returns everything received until the connection ended */
async function raw(bytes: string | Buffer): Promise<string> {
  const socket = await open();
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(bytes);
  await Promise.race([once(socket, 'close'), sleep(RESPONSE_MS, undefined, { ref: false })]);
  socket.destroy();
  return Buffer.concat(chunks).toString('latin1');
}

const head = (extra: string[], { method = 'POST', path = '/api/v1/tools/hash-text' } = {}): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    'Connection: close',
    `Authorization: Bearer ${account.toolsKey}`,
    ...extra,
  ].join('\r\n');

const BODY = '{"text":"abc"}';
const json = `Content-Type: application/json\r\nContent-Length: ${BODY.length}`;

const RAW_REQUESTS: [name: string, bytes: () => string | Buffer, status: RegExp][] = [
  ['a valid request, as a control', () => `${head([json])}\r\n\r\n${BODY}`, /^200$/],
  ['not HTTP', () => 'hello\r\n\r\n', /^400$/],
  ['TLS', () => Buffer.from('1603010200010001fc0303', 'hex'), /^400$/],
  ['HTTP/2 with prior knowledge', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /^400$/],
  ['no Host', () => 'GET /livez HTTP/1.1\r\n\r\n', /^400$/],
  ['a header of 100 KB', () => `${head([`X-Long: ${'x'.repeat(100_000)}`])}\r\n\r\n`, /^400$/],
  ['5,000 headers', () => `${head(Array.from({ length: 5000 }, (_, i) => `X-${i}: y`))}\r\n\r\n`, /^400$/],
  ['a header with a bare line feed', () => `${head(['X: a\nb: c\x01d'])}\r\n\r\n`, /^400$/],
  ['a header without a name', () => `${head([': x'])}\r\n\r\n`, /^400$/],
  [
    'two Content-Length headers',
    () => `${head(['Content-Length: 3', 'Content-Length: 4'])}\r\n\r\nabcd`,
    /^400$/,
  ],
  [
    'Content-Length and Transfer-Encoding (request smuggling)',
    () => `${head(['Content-Length: 4', 'Transfer-Encoding: chunked'])}\r\n\r\n0\r\n\r\n`,
    /^400$/,
  ],
  [
    'an invalid chunk size',
    () => `${head(['Content-Type: application/json', 'Transfer-Encoding: chunked'])}\r\n\r\nZZ\r\n`,
    /^400$/,
  ],
  [
    'an unknown transfer coding',
    () => `${head(['Content-Type: application/json', 'Transfer-Encoding: rot13'])}\r\n\r\n`,
    /^400$|^501$/,
  ],
  [
    'a compressed body',
    () => {
      const body = gzipSync(BODY);
      return Buffer.concat([
        Buffer.from(
          `${head(['Content-Type: application/json', 'Content-Encoding: gzip', `Content-Length: ${body.length}`])}\r\n\r\n`,
        ),
        body,
      ]);
    },
    /^415$|^400$/,
  ],
  [
    'another charset',
    () =>
      `${head(['Content-Type: application/json; charset=utf-16', `Content-Length: ${BODY.length}`])}\r\n\r\n${BODY}`,
    /^415$|^200$/,
  ],
  [
    'a plain text body',
    () => `${head(['Content-Type: text/plain', `Content-Length: ${BODY.length}`])}\r\n\r\n${BODY}`,
    /^415$/,
  ],
  [
    'a form body',
    () => `${head(['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 8'])}\r\n\r\ntext=abc`,
    /^415$/,
  ],
  [
    'invalid UTF-8',
    () =>
      Buffer.concat([
        Buffer.from(`${head(['Content-Type: application/json', 'Content-Length: 12'])}\r\n\r\n{"text":"`),
        Buffer.from([0xff, 0x22, 0x7d]),
      ]),
    /^400$/,
  ],
  [
    'a body of 2 MB',
    () =>
      `${head(['Content-Type: application/json', 'Content-Length: 2000000'])}\r\n\r\n{"text":"${'x'.repeat(1_999_989)}"}`,
    /^413$/,
  ],
  [
    'a body nested 3,000 deep',
    () =>
      `${head(['Content-Type: application/json', 'Content-Length: 6000'])}\r\n\r\n${'['.repeat(3000)}${']'.repeat(3000)}`,
    /^400$/,
  ],
  ['TRACE', () => `${head([], { method: 'TRACE' })}\r\n\r\n`, /^405$/],
  ['an unknown method', () => `${head([], { method: 'BREW' })}\r\n\r\n`, /^400$|^405$/],
  ['CONNECT', () => `${head([], { method: 'CONNECT', path: 'example.com:443' })}\r\n\r\n`, /^$|^4/],
  [
    'an upgrade',
    () => `${head(['Upgrade: websocket', 'Connection: Upgrade', json])}\r\n\r\n${BODY}`,
    /^$|^200$|^4/,
  ],
  [
    'an absolute URL as the request target',
    () => `${head([json], { path: 'http://elsewhere/api/v1/tools/hash-text' })}\r\n\r\n${BODY}`,
    /^404$|^200$/,
  ],
  [
    'dot segments in the path',
    () => `${head([], { method: 'GET', path: '/api/../../etc/passwd' })}\r\n\r\n`,
    /^404$/,
  ],
  [
    'encoded dot segments and NUL',
    () => `${head([], { method: 'GET', path: '/api/%2e%2e%2f%2e%2e%2fetc%2fpasswd%00' })}\r\n\r\n`,
    /^40[04]$/,
  ],
  [
    'invalid percent-encoding in the path',
    () => `${head([], { method: 'GET', path: '/api/v1/account/calls/%ff%' })}\r\n\r\n`,
    /^40[04]$/,
  ],
];

for (const [name, bytes, status] of RAW_REQUESTS)
  test(`a malformed request gets the expected response: ${name}`, async (t) => {
    const response = await raw(bytes());
    const code = /^HTTP\/1\.1 (\d{3})/.exec(response)?.[1] ?? '';
    t.regex(code, status, response.slice(0, 500));
    if (Number(code) >= 400) {
      t.regex(response, /\r\nContent-Type: application\/problem\+json/i);
      t.regex(response, /"code":"[a-z_]+"/);
    }
  });

test('incomplete requests do not delay other calls, and the server closes their connections', async (t) => {
  t.timeout(180_000);
  const slow = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => {
      const socket = await open();
      socket.write(
        i % 2 === 0
          ? 'POST /api/v1/tools/hash-text HTTP/1.1\r\nHost: x\r\nX-Slow: '
          : `${head([json])}\r\n\r\n{"te`,
      );
      return socket.resume();
    }),
  );
  t.is((await account.call('hash-text', { text: 'abc' })).status, 200);
  await until(
    'the server has closed the connections',
    async () => slow.every((socket) => socket.readableEnded || socket.destroyed),
    120_000,
  );
  for (const socket of slow) socket.destroy();
});

test.serial(`${IDLE} idle connections do not prevent calls`, async (t) => {
  t.timeout(180_000);
  const sockets: Socket[] = [];
  try {
    while (sockets.length < IDLE)
      sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => open()))));
    for (let i = 0; i < 5; i++)
      t.is((await account.call('hash-text', { text: `${IDLE} idle connections` })).status, 200);
    t.is((await fetch(`${stack.baseUrl}/livez`)).status, 200);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test.after('rejected requests are not charged, and no call stays open', async (t) => {
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
  const { balance } = await accountOf(store, account.accountId);
  t.true(balance <= CREDITS && balance > CREDITS - 20, `${balance}`);
});
