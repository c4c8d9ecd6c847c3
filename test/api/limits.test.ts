import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { createReplaySlots } from '../../api/calls/replaySlots.ts';
import { drainRequest, readBytes } from '../../api/http/body.ts';
import { limitRequests } from '../../api/http/connectionLimit.ts';
import type { State } from '../../api/http/context.ts';
import { parseFields } from '../../api/http/formFields.ts';
import { createHeldBytes, type Holder } from '../../api/http/heldBytes.ts';
import { exceededBound, startsObject } from '../../api/http/jsonBounds.ts';
import { limitSending } from '../../api/http/limitSending.ts';
import { createPageLimit } from '../../api/http/pageLimit.ts';
import { createPublicServer } from '../../api/http/publicServer.ts';
import { createUploadLimit } from '../../api/http/uploadLimit.ts';
import { withRests } from '../../api/http/withRests.ts';
import { drain, listen } from '../../platform/listen.ts';
import { ERRORS, ServiceError } from '../../schemas/errors.ts';
import { seededRandom } from '../helpers/random.ts';
import { until } from '../helpers/until.ts';

const bound = (json: string): string | null => exceededBound(Buffer.from(json))?.message ?? null;

test('the JSON limits are exact: number of values, depth, and bytes of a name', (t) => {
  const list = (count: number) => `{"a":[${Array(count).fill(1).join()}]}`;
  t.is(bound(list(1_999)), null);
  t.regex(String(bound(list(2_000))), /2000 values/);
  const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
  t.is(bound(nested(32)), null);
  t.regex(String(bound(nested(33))), /32 levels/);
  const named = (length: number) => `{"${'n'.repeat(length)}" : 1}`;
  t.is(bound(named(255)), null);
  t.regex(String(bound(named(256))), /256 bytes/);
  const marks = '[{,:'.repeat(20_000);
  t.is(bound(JSON.stringify({ a: marks, b: `\\"${marks}\\`, c: marks })), null, 'marks within strings');
});

test('a JSON text is recognised as an object by its first character, after white space or a byte order mark', (t) => {
  for (const json of ['{}', ' \t\r\n{', '\ufeff{}', '\ufeff {'])
    t.true(startsObject(Buffer.from(json)), json);
  for (const json of ['', ' ', '[]', '"{"', '\ufeff', '\u00a0{'])
    t.false(startsObject(Buffer.from(json)), json);
});

test('a form is parsed with the same result as by URLSearchParams', async (t) => {
  // Only ASCII, as browsers send it: for other bytes and a stray `%`, Node's parser for query strings departs from the
  // URL Standard.
  const random = seededRandom((line) => t.log(line));
  const parts = ['a', 'b=', '=', '&', '+', '%', '%4', '%41', '%e2%82%ac', '%ff', '%zz', '?', '%26'];
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: random.integer(0, 12) }, () => random.pick(parts)).join('');
    const body = Buffer.from(`x${text}`);
    t.deepEqual([...((await parseFields(body, 100)) ?? [])], [...new URLSearchParams(body.toString())], text);
  }
});

test('a form has a maximum number of fields', async (t) => {
  t.is((await parseFields(Buffer.from('a&a&a'), 3))?.size, 3);
  t.is(await parseFields(Buffer.from('a&a&a&'), 2), null);
  t.is(await parseFields(Buffer.from('&'.repeat(1000)), 2), null);
});

const client = (address: string, account: string | null = null): Holder => ({ address, account });

test('when all clients together hold too many bytes, the address or account that holds most loses its largest share', (t) => {
  const held = createHeldBytes(100);
  const evicted: string[] = [];
  const share = (name: string, holder: Holder) => held.open(holder, () => evicted.push(name));
  const victim = share('victim', client('192.0.2.1', 'acc_1'));
  victim.add(40);
  const [small, large] = [
    share('small', client('192.0.2.2', 'acc_2')),
    share('large', client('192.0.2.2', 'acc_3')),
  ];
  small.add(21);
  large.add(29);
  t.deepEqual(evicted, []);
  small.add(11);
  t.deepEqual(evicted, ['small'], 'one address, two accounts');
  small.add(1000);
  small[Symbol.dispose]();
  large.add(31);
  t.deepEqual(evicted, ['small']);
  large[Symbol.dispose]();
  const spread = [1, 2, 3].map((index) => share(`spread ${index}`, client(`2001:db8:${index}::1`, 'acc_4')));
  for (const it of spread) it.add(20);
  victim.add(1);
  t.deepEqual(evicted, ['small', 'spread 1'], 'one account, three addresses');
  spread[1]?.add(-20);
  victim.add(30);
  t.deepEqual(evicted, ['small', 'spread 1'], 'bytes that are no longer held');
});

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

async function serve(
  t: ExecutionContext,
  listener: RequestListener,
  limits: Parameters<typeof createPublicServer>[1] = {},
): Promise<{ server: Server; open(bytes?: string, localAddress?: string): Promise<Socket> }> {
  const server = createPublicServer(listener, { connectionsCheckingInterval: 50, ...limits });
  const { hostname, port } = new URL(await listen(server, '127.0.0.1', 0));
  const sockets: Socket[] = [];
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    await drain(server);
  });
  return {
    server,
    async open(bytes = '', localAddress = '127.0.0.1') {
      const socket = connect({ port: Number(port), host: hostname, localAddress, allowHalfOpen: true });
      sockets.push(socket.on('error', () => undefined));
      await once(socket, 'connect');
      socket.write(bytes);
      return socket;
    },
  };
}

/** Resolves when the server has closed a connection, also without having read what was sent. */
const closedByServer = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => socket.once('end', resolve).once('close', resolve));

test('a server that stops answers its requests and closes connections without a request at once', async (t) => {
  const started = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const { server, open } = await serve(t, async (_request, response) => {
    started.resolve();
    await end.promise;
    response.end('answered');
  });
  const silent = await open();
  const half = await open('GET / HTTP/1.1\r\n');
  const busy = await open('GET / HTTP/1.1\r\nHost: a\r\nExpect: something\r\n\r\n');
  await started.promise;
  const stopped = drain(server);
  // Without that, Node.js would send 408 after the time for the headers of a request.
  for (const socket of [silent, half]) t.is((await socket.toArray()).length, 0);
  end.resolve();
  t.regex(Buffer.concat(await busy.toArray()).toString(), /^HTTP\/1\.1 200 [\s\S]*answered/);
  await stopped;
});

const connections = (server: Server): Promise<number> =>
  new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );

/** Asserts that the server closes all its connections by itself. */
async function assertCloses(t: ExecutionContext, server: Server): Promise<void> {
  await t.notThrowsAsync(until('no connection is open', async () => (await connections(server)) === 0));
}

const answers: RequestListener = (_request, response) => response.end('ok');

test('more than 16 KB of headers are refused, and the server closes the connection', async (t) => {
  const { server, open } = await serve(t, answers);
  const socket = await open(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}`);
  const [answer] = await once(socket, 'data');
  t.regex(String(answer), /^HTTP\/1\.1 400 [\s\S]*"code":"invalid_header"/);
  await assertCloses(t, server);
});

for (const [name, bytes] of [
  ['nothing', ''],
  ['half a header', 'GET / HTTP/1.1\r\nX-Slow: '],
] as const)
  test(`a connection that sends ${name} is closed at the timeout for headers`, async (t) => {
    const { server, open } = await serve(t, answers, { headersTimeout: 100 });
    const socket = await open(bytes);
    socket.resume();
    await closedByServer(socket);
    await assertCloses(t, server);
  });

test('a connection whose request body stays incomplete is closed at the timeout for requests', async (t) => {
  const { server, open } = await serve(t, (request) => request.resume(), {
    headersTimeout: 100,
    requestTimeout: 200,
  });
  const socket = await open('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123');
  socket.resume();
  await closedByServer(socket);
  await assertCloses(t, server);
});

test('a connection above the limit is closed if the others are busy, and they are served', async (t) => {
  const responses: ServerResponse[] = [];
  const { open } = await serve(t, (_request, response) => responses.push(response), { maxConnections: 2 });
  const busy = [await open(get('/')), await open(get('/'))];
  await until('both requests have begun', async () => responses.length === 2);
  const third = await open();
  third.resume();
  await closedByServer(third);
  for (const response of responses) response.end('ok');
  for (const socket of busy) t.regex(String(await once(socket, 'data')), /200 OK/);
});

/** The statuses of a request on each connection; null for connections that the server has closed. */
const statusesOf = (sockets: readonly Socket[]): Promise<(string | null)[]> =>
  Promise.all(
    sockets.map(async (socket) => {
      if (socket.destroyed || socket.readableEnded) return null;
      socket.write(get('/'));
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      await Promise.race(
        ['data', 'end', 'close'].map((event) => new Promise((done) => socket.once(event, done))),
      );
      return /^HTTP\/1\.1 (\d+)/.exec(Buffer.concat(chunks).toString())?.[1] ?? null;
    }),
  );

test('one address cannot have all connections: its longest idle ones are closed', async (t) => {
  const { open } = await serve(t, answers, { maxConnections: 5, perAddress: 3 });
  const victim = await open('', '127.0.0.2');
  const greedy: Socket[] = [];
  for (let count = 0; count < 10; count++) greedy.push(await open());
  t.deepEqual(await statusesOf([victim]), ['200']);
  t.deepEqual(await statusesOf(greedy), [...Array(7).fill(null), '200', '200', '200']);
});

test('at the limit of connections, the address with most connections loses its longest idle one', async (t) => {
  const { open } = await serve(t, answers, { maxConnections: 4, perAddress: 3 });
  const victim = await open('', '127.0.0.2');
  const greedy: Socket[] = [];
  for (let count = 0; count < 3; count++) greedy.push(await open());
  const other = await open('', '127.0.0.3');
  t.deepEqual(await statusesOf([victim, other, ...greedy]), ['200', '200', null, '200', '200']);
});

test('addresses whose connections are all busy lock nobody out', async (t) => {
  const begun: ServerResponse[] = [];
  const { open } = await serve(
    t,
    (request, response) => {
      if (request.url === '/held') begun.push(response);
      else answers(request, response);
    },
    { maxConnections: 6, perAddress: 3 },
  );
  const busy = ['127.0.0.2', '127.0.0.3'].flatMap((address) =>
    [1, 2, 3].map(() => open(get('/held'), address)),
  );
  await Promise.all(busy);
  await until('their requests have begun', async () => begun.length === 6);
  const [victim, other] = [await open('', '127.0.0.4'), await open('', '127.0.0.5')];
  t.deepEqual(await statusesOf([victim, other]), ['200', '200']);
  await until('two of them are closed', async () => begun.filter(({ destroyed }) => destroyed).length === 2);
});

test('behind a proxy, the requests in progress of each client address are limited, and those of the proxy are not', async (t) => {
  const app = new Koa<State>({ proxy: true });
  const held: (() => void)[] = [];
  app.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      ctx.status = error instanceof ServiceError ? ERRORS[error.code].status : 500;
    }
  });
  app.use(limitRequests(2));
  app.use(async (ctx) => {
    if (ctx.path === '/held') await new Promise<void>((resolve) => held.push(resolve));
    ctx.body = 'ok';
  });
  const { open } = await serve(t, app.callback(), { perAddress: null });
  // As in docker/Caddyfile, the header has the address of the proxy's client.
  const from = (address: string | null, path: string) => {
    const forwarded = address === null ? '' : `X-Forwarded-For: ${address}\r\n`;
    return open(`GET ${path} HTTP/1.1\r\nHost: x\r\n${forwarded}\r\n`);
  };
  const statusOf = async (socket: Socket) =>
    /^HTTP\/1\.1 (\d+)/.exec(String(await once(socket, 'data')))?.[1];
  const running = [await from('192.0.2.1', '/held'), await from('192.0.2.1', '/held')];
  for (let count = 0; count < 3; count++) running.push(await from(null, '/held'));
  await until('the requests have begun', async () => held.length === 5);
  t.is(await statusOf(await from('192.0.2.1', '/')), '429');
  t.is(await statusOf(await from('192.0.2.2', '/')), '200');
  t.is(await statusOf(await from(null, '/')), '200');
  for (const release of held) release();
  for (const socket of running) t.is(await statusOf(socket), '200');
  t.is(await statusOf(await from('192.0.2.1', '/')), '200');
});

/** Serves a stream whose only chunk is this body. */
const streaming =
  (body: Buffer, limits?: Parameters<typeof limitSending>[3]): RequestListener =>
  (_request, response) => {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(body));
        controller.close();
      },
    });
    const limited = limitSending(response, stream, client('192.0.2.1'), limits);
    if (!(limited instanceof Readable)) throw new TypeError('not a stream');
    pipeline(limited, response, () => undefined);
  };

test('a connection is closed if the client reads a stream too slowly, although it reads', async (t) => {
  const limits = { sendMs: 5000, bytesPerMs: Number.POSITIVE_INFINITY };
  const { server, open } = await serve(t, streaming(Buffer.alloc(80_000_000), limits));
  const socket = await open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  let pauses = 0;
  socket.on('data', () => {
    pauses++;
    socket.pause();
    setTimeout(() => socket.resume(), 20);
  });
  await once(socket, 'data');
  await assertCloses(t, server);
  t.true(pauses > 1);
});

test('a stream is sent completely if the client reads it', async (t) => {
  const body = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => index % 251));
  const server = createServer(streaming(body));
  const url = await listen(server, '127.0.0.1', 0);
  t.teardown(() => drain(server));
  t.true(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(body));
});

test('the next request of a connection begins when the response before has been taken', async (t) => {
  const begun: string[] = [];
  const large = Buffer.alloc(20_000_000);
  const { open } = await serve(t, (request, response) => {
    begun.push(request.url ?? '');
    response.end(request.url === '/large' ? large : 'small');
  });
  const socket = await open(get('/large') + get('/second') + get('/third'));
  socket.pause();
  const other = await open(get('/other'));
  t.regex(String(await once(other, 'data')), /small$/);
  t.deepEqual(begun, ['/large', '/other']);
  socket.resume();
  await until('the other requests begin', async () => begun.length === 4);
  t.deepEqual(begun.slice(2), ['/second', '/third']);
});

test('requests that wait on a connection that ends do not begin', async (t) => {
  const begun: string[] = [];
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<void>();
  const { open } = await serve(t, (request, response) => {
    begun.push(request.url ?? '');
    if (request.url === '/other') response.end('ok');
    else response.once('close', () => setImmediate(onEnd));
  });
  const socket = await open(get('/held') + get('/second'));
  await until('a request begins', async () => begun.length === 1);
  socket.destroy();
  await ended;
  const other = await open(get('/other'));
  await once(other, 'data');
  t.deepEqual(begun, ['/held', '/other']);
});

test('a connection on which too many requests wait is closed', async (t) => {
  const { server, open } = await serve(t, () => undefined);
  const socket = await open(get('/').repeat(40));
  socket.resume();
  await assertCloses(t, server);
});

test('what waits on many connections of one address is bounded, and does not interrupt the uploads of another', async (t) => {
  const { server, open } = await serve(t, async (request, response) => {
    if (request.url === '/held') return;
    const ip = request.socket.remoteAddress ?? '';
    const body = await readBytes({ req: request, ip, state: {} }, 10_000_000).catch(() => null);
    response.end(String(body?.length));
  });
  const post = (length: number, sent: number) =>
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(sent)}`;
  const victim = await open(post(5_000_000, 4_000_000));
  for (let count = 0; count < 80; count++)
    (await open(get('/held') + post(60_000, 60_000).repeat(31), '127.0.0.2')).resume();
  await until('the server closes some of them', async () => (await connections(server)) < 81);
  victim.write('x'.repeat(1_000_000));
  t.regex(String(await once(victim, 'data')), /5000000$/);
});

test('a connection is closed if the client does not read the response', async (t) => {
  const body = Buffer.alloc(20_000_000);
  const { server, open } = await serve(t, (_request, response) => {
    limitSending(response, body, client('192.0.2.1'), { sendMs: 100, bytesPerMs: body.length });
    response.end(body);
  });
  const socket = await open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.pause();
  await assertCloses(t, server);
});

test('a connection is closed if the client does not read a response that is an object', async (t) => {
  const { server, open } = await serve(t, (_request, response) => {
    const body = { items: Array.from({ length: 20 }, () => 'x'.repeat(1_000_000)) };
    const sent = limitSending(response, body, client('192.0.2.1'), { sendMs: 100, bytesPerMs: 1_000_000 });
    response.end(typeof sent === 'string' ? sent : JSON.stringify(sent));
  });
  const socket = await open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.pause();
  await assertCloses(t, server);
});

test('a large response is sent completely if the client reads it', async (t) => {
  const body = Buffer.alloc(20_000_000);
  const server = createServer((_request, response) => {
    limitSending(response, body, client('192.0.2.1'));
    response.end(body);
  });
  const url = await listen(server, '127.0.0.1', 0);
  t.teardown(() => drain(server));
  t.is((await (await fetch(url)).arrayBuffer()).byteLength, body.length);
});

test('bodies that accounts hold open do not interrupt the upload of another account', async (t) => {
  t.timeout(120_000);
  const { server, open } = await serve(t, async (request, response) => {
    const account = { _id: String(request.headers['x-account']) };
    const ip = String(request.headers['x-address']);
    const body = await readBytes({ req: request, ip, state: { caller: { account } } }, 10_000_000).catch(
      () => null,
    );
    response.end(body === null ? 'incomplete' : `received ${body.length}`);
  });
  const upload = (index: number, length: number, sent: number) =>
    open(
      `POST / HTTP/1.1\r\nHost: x\r\nX-Account: acc_${index}\r\nX-Address: 192.0.2.${index}\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(sent)}`,
    );
  const victim = await upload(0, 5_000_000, 4_000_000);
  for (const index of [1, 2])
    for (let count = 0; count < 12; count++) (await upload(index, 5_000_000, 4_999_000)).resume();
  await until('the server closes some of them', async () => (await connections(server)) < 25);
  victim.write('x'.repeat(1_000_000));
  t.regex(String(await once(victim, 'data')), /received 5000000$/);
});

const unfinished = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n123';

test('a connection is closed if the client keeps sending the body after the response', async (t) => {
  const { server, open } = await serve(t, (request, response) => {
    drainRequest(request, response, 100);
    response.end('no');
  });
  const socket = await open(unfinished);
  t.regex(String(await once(socket, 'data')), /200 OK/);
  await assertCloses(t, server);
});

test('a connection is closed if the client keeps sending small chunks after the response', async (t) => {
  const { server, open } = await serve(t, (request, response) => {
    drainRequest(request, response);
    response.end('no');
  });
  const socket = await open('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  socket.resume();
  socket.write('1\r\nx\r\n'.repeat(20_000));
  await assertCloses(t, server);
});

test('the rest of a short body is read after the response, and the connection serves the next request', async (t) => {
  const { open } = await serve(t, (request, response) => {
    drainRequest(request, response);
    response.end('no');
  });
  const socket = await open('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n123');
  t.regex(String(await once(socket, 'data')), /200 OK/);
  socket.write('456GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  t.regex(String(await once(socket, 'data')), /200 OK/);
});

test('an account sends a limited number of large bodies at the same time, and other requests are not delayed', async (t) => {
  const uploads = createUploadLimit(2000);
  const reading: string[] = [];
  const { open } = await serve(t, async (request, response) => {
    const account = String(request.headers['x-account']);
    try {
      using _slot = await uploads.acquire(account, request);
      reading.push(account);
      request.resume();
      await once(request, 'close');
    } catch (error) {
      response.statusCode = error instanceof ServiceError ? ERRORS[error.code].status : 500;
    }
    response.end();
  });
  const send = (account: string, length: number) =>
    open(`POST / HTTP/1.1\r\nHost: x\r\nX-Account: ${account}\r\nContent-Length: ${length}\r\n\r\n{`);
  const readingOf = (account: string) => reading.filter((it) => it === account).length;

  const sockets = await Promise.all(Array.from({ length: 12 }, () => send('a', 1_000_000)));
  await until('12 bodies are being received', async () => readingOf('a') === 12);
  const late = await send('a', 1_000_000);
  t.regex(String(await once(late, 'data')), /^HTTP\/1.1 429 /, 'no slot became free in time');
  await Promise.all([send('a', 1000), send('b', 1_000_000)]);
  await until(
    'a small body, and that of another account',
    async () => readingOf('a') + readingOf('b') === 14,
  );

  const next = await send('a', 1_000_000);
  sockets[0]?.destroy();
  await until('a disconnected caller frees its slot', async () => readingOf('a') === 14);
  next.destroy();
});

/** Keeps the thread busy. */
function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test('work on the rows of a download rests for twice as long as it takes', async (t) => {
  const rows = async function* () {
    yield* [1, 2, 3];
  };
  const began = performance.now();
  const seen: number[] = [];
  for await (const row of withRests(rows())) {
    seen.push(row);
    work(40);
  }
  t.deepEqual(seen, [1, 2, 3]);
  t.true(performance.now() - began >= 3 * 3 * 40 - 1, `${performance.now() - began} ms`);
});

test('pages that are made for a request are made one after the other, with rests', async (t) => {
  const { render } = createPageLimit({ rate: 20, burst: 40 });
  let inWork = 0;
  const page = async (name: string) => {
    t.is(++inWork, 1);
    work(20);
    await new Promise(setImmediate);
    inWork--;
    return name;
  };
  const began = performance.now();
  const made = await Promise.all(['a', 'b', 'c'].map((name) => render('192.0.2.1', () => page(name))));
  t.deepEqual(made, ['a', 'b', 'c']);
  t.true(performance.now() - began >= 2 * 60 - 2, `${performance.now() - began} ms`);
  await t.throwsAsync(
    render('192.0.2.1', async () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  );
  t.is(await render('192.0.2.2', () => page('d')), 'd');
});

test('large first results of an account are read four at a time and with rests, and those of another one beside them', async (t) => {
  const slots = createReplaySlots();
  const { signal } = new AbortController();
  const began = performance.now();
  const first = await Promise.all(Array.from({ length: 4 }, () => slots.acquireFirst('acc_1', signal)));
  const order: string[] = [];
  const fifth = slots.acquireFirst('acc_1', signal).then((slot) => {
    order.push('fifth');
    slot[Symbol.dispose]();
  });
  for (const slot of first) {
    slot.noteSize(3_000_000);
    slot[Symbol.dispose]();
  }
  (await slots.acquireFirst('acc_2', signal))[Symbol.dispose]();
  order.push('other');
  await fifth;
  t.deepEqual(order, ['other', 'fifth']);
  t.true(performance.now() - began >= 299, `${performance.now() - began} ms`);
  const held = await Promise.all(Array.from({ length: 4 }, () => slots.acquireFirst('acc_1', signal)));
  (await slots.acquireFirst('acc_1', AbortSignal.timeout(10)))[Symbol.dispose]();
  for (const slot of held) slot[Symbol.dispose]();
});
