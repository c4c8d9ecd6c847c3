import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { createPageLimit } from '../../api/http/pageLimit.ts';
import { makeAccount, type TestAccount, withStore } from '../helpers/account.ts';
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
  const document = 'GET /dashboard/pdf.worker.mjs HTTP/1.1\r\nHost: x\r\n\r\n';
  const sockets: Socket[] = [];
  for (const count of [REQUESTS, 10, 10, 10]) {
    const socket = await open(document.repeat(count));
    sockets.push(socket.pause());
  }
  t.is((await account.call('hash-text', { text: 'the API has read the requests' })).status, 200);
  let bytes = 0;
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read())
    bytes += part.value.length;
  t.true(bytes > 6 * LARGE.length - 1_000_000, `${bytes} bytes`);
  for (const socket of sockets) socket.destroy();
});

/** Calls http-request for the large result with an Idempotency-Key, and does not read the response. */
async function unread(): Promise<IncomingMessage> {
  const headers = {
    Authorization: `Bearer ${account.toolsKey}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': 'large',
  };
  const sent = request(`${stack.baseUrl}/api/v1/tools/http-request`, {
    method: 'POST',
    headers,
    agent: false,
  });
  sent.end(JSON.stringify({ url: large }));
  const [response]: IncomingMessage[] = await once(sent, 'response');
  if (response === undefined) throw new Error('no response');
  return response;
}

test.serial('few large results of an account are replayed at the same time', async (t) => {
  const first = await unread();
  first.resume();
  t.is(first.statusCode, 200);
  await once(first, 'end');
  const replays = await Promise.all(Array.from({ length: 4 }, unread));
  t.deepEqual([...new Set(replays.map(({ statusCode }) => statusCode))], [200]);
  const refused = await unread();
  t.is(refused.statusCode, 429);
  t.is(refused.headers['retry-after'], '5');
  refused.resume();
  const next = unread();
  replays[0]?.destroy();
  const replay = await next;
  t.is(replay.statusCode, 200);
  for (const it of [...replays, replay]) it.destroy();
});

/** Pages and requests without a key that look up a token, with a token that has the right form and one that has not. */
const LOOK_UPS = [
  {
    what: 'a link to reset a password',
    collection: 'verifications',
    send: (token: string) => fetch(`${stack.baseUrl}/dashboard/reset-password?token=${token}`),
    formed: 'a'.repeat(24),
  },
  {
    what: 'a link to change the email address',
    collection: 'verifications',
    send: (token: string) => fetch(`${stack.baseUrl}/dashboard/confirm-email?token=${token}`),
    formed: 'a'.repeat(43),
  },
  {
    what: 'a device code',
    collection: 'deviceCodes',
    send: (device_code: string) => post('device/token', { device_code }),
    formed: 'a'.repeat(43),
  },
  {
    what: 'a refresh token',
    collection: 'oauthRefreshTokens',
    send: (refresh_token: string) =>
      post('oauth2/token', { grant_type: 'refresh_token', client_id: 'a'.repeat(32), refresh_token }),
    formed: `ut_rt_${'a'.repeat(32)}`,
  },
];

const post = (path: string, fields: Record<string, string>) =>
  fetch(`${stack.baseUrl}/api/auth/${path}`, { method: 'POST', body: new URLSearchParams(fields) });

test.serial('a token without the form of an issued one is refused without a look-up', async (t) => {
  await withStore(stack, async ({ db }) => {
    await db.command({ profile: 2 });
    try {
      for (const { what, collection, send, formed } of LOOK_UPS) {
        const reads = () =>
          db.collection('system.profile').countDocuments({ ns: `${db.databaseName}.${collection}` });
        const before = await reads();
        const malformed = await send('made-up');
        t.true(malformed.status >= 400 && malformed.status < 500, `${what}: ${malformed.status}`);
        t.is(await reads(), before, what);
        t.is((await send(formed)).status, malformed.status, what);
        t.true((await reads()) > before, what);
      }
    } finally {
      await db.command({ profile: 0 });
    }
  });
});

test('few requests without a key use MongoDB at the same time, and addresses get slots in turn', async (t) => {
  const limit = createPageLimit({ rate: 20, burst: 40 });
  const entered: string[] = [];
  const enter = async (address: string) => {
    const slot = await limit.acquire(address);
    entered.push(address);
    return slot;
  };
  const held = await Promise.all(Array.from({ length: 8 }, () => enter('192.0.2.1')));
  const waiting = [enter('192.0.2.1'), enter('192.0.2.2')];
  held.shift()?.[Symbol.dispose]();
  await waiting[1];
  for (const slot of held) slot[Symbol.dispose]();
  for (const slot of await Promise.all(waiting)) slot[Symbol.dispose]();
  t.deepEqual(entered.slice(8), ['192.0.2.2', '192.0.2.1']);
});

test.serial(
  'an address that requests pages without a key very often is refused, and calls are not',
  async (t) => {
    const url = `${stack.baseUrl}/dashboard/reset-password?token=${'a'.repeat(24)}`;
    const statuses: number[] = [];
    while (statuses.length < 5000 && !statuses.includes(429))
      statuses.push(
        ...(await Promise.all(Array.from({ length: 20 }, async () => (await fetch(url)).status))),
      );
    t.deepEqual([...new Set(statuses)], [410, 429]);
    t.is((await account.call('hash-text', { text: 'beside them' })).status, 200);
  },
);
