import { setTimeout as sleep } from 'node:timers/promises';
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { decode } from '../../egress/decode.ts';
import { type FailureKind, failureKind } from '../../egress/failure.ts';
import type { Guard } from '../../egress/guard.ts';
import type { GuardedResponse } from '../../egress/response.ts';
import type { RequestOptions } from '../../egress/sendRequest.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { codeOf, guardFor, soon } from '../helpers/egress.ts';
import { type RawServer, type Script, startRaw } from '../helpers/http.ts';
import { seededRandom } from '../helpers/random.ts';
import { until } from '../helpers/until.ts';

interface Server extends RawServer {
  guard: Guard;
  request(options?: Partial<RequestOptions> & { path?: string }): Promise<GuardedResponse>;
}

/**
 * Starts a server that sends these bytes and closes the connection, and returns it with a guard that allows connections
 * to it.
 */
const serving = (t: ExecutionContext, ...parts: (string | Buffer)[]): Promise<Server> =>
  scripted(t, () => parts);

async function scripted(t: ExecutionContext, script: Script): Promise<Server> {
  const server = await startRaw(script);
  t.teardown(server.close);
  const guard = guardFor(server.port);
  return {
    ...server,
    guard,
    request: ({ path = '/', ...options } = {}) =>
      guard.request(
        guard.parseTarget(`http://127.0.0.1:${server.port}${path}`, { kind: 'url', pointer: '/url' }),
        {
          ...soon(),
          maxBytes: 100_000,
          ...options,
        },
      ),
  };
}

const head = (...lines: string[]): string => `${['HTTP/1.1 200 OK', ...lines].join('\r\n')}\r\n\r\n`;

/** Requests a response of these bytes and returns its body as text. */
async function textOf(t: ExecutionContext, ...parts: (string | Buffer)[]): Promise<string> {
  const server = await serving(t, ...parts);
  using response = await server.request();
  return (await response.bytes()).toString();
}

test('a request contains the given lines in order, and no header beyond the required ones', async (t) => {
  const server = await serving(t, head(), 'ok');
  using response = await server.request({
    path: '/a%20b?c=%C3%BC',
    method: 'POST',
    headers: [
      ['X-One', '1'],
      ['x-two', '2'],
      ['X-One', '3'],
      ['Accept', 'text/plain'],
    ],
    body: 'grüße',
  });
  await response.bytes();
  const [requestLine, ...lines] = (server.requests[0] ?? '').split('\r\n');
  t.is(requestLine, 'POST /a%20b?c=%C3%BC HTTP/1.1');
  t.deepEqual(lines.slice(0, -2), [
    `Host: 127.0.0.1:${server.port}`,
    'User-Agent: Mozilla/5.0 (compatible; utility-tools-api)',
    'Accept-Encoding: gzip, deflate, br, zstd',
    'X-One: 1',
    'x-two: 2',
    'X-One: 3',
    'Accept: text/plain',
    'Content-Length: 7',
    'Connection: close',
  ]);
});

test('headers that would break the HTTP message are reported as faults', async (t) => {
  const server = await serving(t, head(), 'ok');
  const bad: [string, string][] = [
    ['X-A', 'b\r\nX-C: d'],
    ['X-A', 'b\nX-C: d'],
    ['X-A', 'b\u0000'],
    ['X-A', '☃'],
    ['X A', 'b'],
    ['X-A:', 'b'],
    ['', 'b'],
    ['Content-Length', '5'],
    ['Transfer-Encoding', 'chunked'],
    ['connection', 'keep-alive'],
    ['Upgrade', 'h2c'],
  ];
  for (const header of bad)
    t.is(await codeOf(() => server.request({ headers: [header] })), 'invalid_input', header.join());
  t.is(server.requests.length, 0);
});

test('response headers keep their order and repetitions', async (t) => {
  const sent = head(
    'Set-Cookie: a=1',
    'X-UTF8: caf\u00c3\u00a9',
    'X-Latin: caf\u00e9',
    'set-cookie: b=2',
    'X-Folded: one\r\n  two',
    'X-Empty:',
  );
  const server = await serving(t, Buffer.from(sent, 'latin1'), 'ok');
  using response = await server.request();
  t.deepEqual(response.headers, [
    ['Set-Cookie', 'a=1'],
    ['X-UTF8', 'café'],
    ['X-Latin', 'café'],
    ['set-cookie', 'b=2'],
    ['X-Folded', 'one two'],
    ['X-Empty', ''],
  ]);
  t.is(response.header('SET-COOKIE'), 'a=1, b=2');
  t.is(response.header('x-none'), null);
  t.is(response.statusText, 'OK');
});

test('responses that curl accepts are accepted', async (t) => {
  t.is(
    await textOf(
      t,
      'HTTP/1.1 100 Continue\r\n\r\n',
      'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n',
      head(),
      'ok',
    ),
    'ok',
  );
  t.is(await textOf(t, 'HTTP/1.0 200 OK\r\n\r\n', 'ok'), 'ok');
  t.is(await textOf(t, 'HTTP/1.1 200\nContent-Length: 2\n\nok'), 'ok');
  t.is(await textOf(t, head('Content-Length: 2'), 'ok and more'), 'ok');
  t.is(await textOf(t, 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok'), '');
  t.is(
    await textOf(
      t,
      head('Transfer-Encoding: chunked', 'Content-Length: 9'),
      '2;a=b\r\nok\r\n0\r\nX-T: r\r\n\r\n',
    ),
    'ok',
  );
});

test('a response to HEAD has no body, whatever its headers state', async (t) => {
  for (const header of [
    'Content-Length: 1000000000',
    'Content-Encoding: gzip',
    'Transfer-Encoding: chunked',
  ]) {
    const server = await serving(t, head(header));
    using response = await server.request({ method: 'HEAD' });
    t.is((await response.bytes()).length, 0, header);
  }
});

test('a Content-Length that does not describe the body is ignored', async (t) => {
  const length = 'Content-Length: 1000000000';
  for (const status of ['204 No Content', '304 Not Modified']) {
    const server = await serving(t, `HTTP/1.1 ${status}\r\n${length}\r\n\r\n`);
    using response = await server.request();
    t.is((await response.bytes()).length, 0, status);
  }
  t.is(await textOf(t, head(length, 'Transfer-Encoding: chunked'), '2\r\nok\r\n0\r\n\r\n'), 'ok');
  t.is(
    await codeOf(() =>
      textOf(t, head(length, 'Transfer-Encoding: chunked'), '186a1\r\n', 'x'.repeat(100_001)),
    ),
    'source_too_large',
  );
  t.is(await codeOf(() => textOf(t, head(length), 'x')), 'source_too_large');
});

test("a status outside HTTP's range is target_failed", async (t) => {
  for (const status of ['000', '001', '99', '099', '1000', '-200', 'abc'])
    for (const length of ['Content-Length: 2\r\n', '']) {
      const server = await serving(t, `HTTP/1.1 ${status} Odd\r\n${length}\r\nok`);
      const error = await t.throwsAsync(() => server.request(), undefined, status);
      t.is(failureKind(error), 'protocol', status);
      await until('the connection is closed', async () => server.open() === 0);
    }
  t.is(await textOf(t, 'HTTP/1.1 999 Odd\r\n\r\n', 'ok'), 'ok');
});

const CODINGS: Record<string, (text: Buffer) => Buffer> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};
test('content codings are decoded, single and stacked, wherever the body is split', async (t) => {
  const random = seededRandom(t.log);
  const text = Buffer.from(random.text(5_000));
  const stacks = [
    ...Object.keys(CODINGS).map((coding) => [coding]),
    ['gzip', 'br'],
    ['zstd', 'identity', 'deflate', 'gzip'],
  ];
  for (const stack of stacks) {
    const body = stack.reduce<Buffer>((bytes, coding) => CODINGS[coding]?.(bytes) ?? bytes, text);
    const cut = random.integer(1, body.length - 1);
    const server = await serving(
      t,
      head(`Content-Encoding: ${stack.join(', ').toUpperCase()}`),
      body.subarray(0, cut),
      body.subarray(cut),
    );
    using response = await server.request();
    t.true(response.decoded);
    t.deepEqual(await response.bytes(), text, stack.join());
  }
  t.is(await textOf(t, head('Content-Encoding: deflate'), deflateRawSync('raw')), 'raw');
  t.is(await textOf(t, head('Content-Encoding: gzip'), gzipSync('one '), gzipSync('two')), 'one two');
  t.is(await textOf(t, head('Content-Encoding: gzip', 'Content-Length: 0')), '');
  t.is(
    await textOf(
      t,
      head('Content-Encoding: gzip', 'Content-Encoding: br'),
      brotliCompressSync(gzipSync('two fields')),
    ),
    'two fields',
  );
});

/** A skippable zstd frame with user data (RFC 8878, section 3.1.2). */
const SKIPPABLE = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
const withChecksum = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
test('a zstd body is decoded up to its last frame, wherever it is split', async (t) => {
  const random = seededRandom(t.log);
  const texts = ['', 'one ', 'two '.repeat(50), random.text(5_000), 'x'.repeat(300_000), ''];
  const frames = texts.map((text, index) => zstdCompressSync(text, index % 2 === 0 ? withChecksum : {}));
  const body = Buffer.concat([SKIPPABLE, ...frames, SKIPPABLE]);
  const read = async (...chunks: Buffer[]): Promise<string> => {
    async function* wire(): AsyncGenerator<Buffer> {
      yield* chunks;
    }
    let text = '';
    for await (const chunk of decode(wire(), ['zstd'], 1_000_000)) text += chunk.toString('latin1');
    return Buffer.from(text, 'latin1').toString();
  };
  t.is(
    await textOf(t, head('Content-Encoding: zstd'), Buffer.concat(frames.slice(0, 4))),
    texts.slice(0, 4).join(''),
  );
  t.is(await read(body), texts.join(''));
  t.is(await read(...Array.from(body, (byte) => Buffer.from([byte]))), texts.join(''));
  for (let round = 0; round < 50; round++) {
    const [one, two] = [random.integer(0, body.length), random.integer(0, body.length)].sort((a, b) => a - b);
    t.is(await read(body.subarray(0, one), body.subarray(one, two), body.subarray(two)), texts.join(''));
  }

  const first = SKIPPABLE.length + (frames[0]?.length ?? 0);
  const whole = new Set([SKIPPABLE.length, first, first + (frames[1]?.length ?? 0)]);
  for (let length = 1; length <= Math.max(...whole); length++)
    t.is(
      await codeOf(() => read(body.subarray(0, length))),
      whole.has(length) ? 'ok' : 'target_failed',
      `${length} bytes`,
    );
  t.is(await codeOf(() => read(Buffer.concat([...frames, Buffer.from('x')]))), 'target_failed');
});

test('a body of many zstd frames is decoded, and its total size is limited', async (t) => {
  const download = async (frame: Buffer, times: number, maxBytes: number): Promise<number> => {
    const body = Buffer.concat(Array.from({ length: times }, () => frame));
    const server = await serving(t, head('Content-Encoding: zstd'), body);
    using response = await server.request({ maxBytes });
    return (await response.bytes()).length;
  };
  t.is(await download(zstdCompressSync('x'), 30_000, 1_000_000), 30_000);
  for (const maxBytes of [100_000, 50_000_000])
    t.is(
      await codeOf(() => download(zstdCompressSync(Buffer.alloc(50_000)), 100, maxBytes)),
      'source_too_large',
    );
});

test('a body with an unknown content coding is returned as received', async (t) => {
  const server = await serving(t, head('Content-Encoding: compress'), 'as it is');
  using response = await server.request();
  t.false(response.decoded);
  t.is((await response.bytes()).toString(), 'as it is');
});

test('a body may be as long as its limit; a longer one is refused, failed or truncated as configured', async (t) => {
  const text = 'x'.repeat(1001);
  for (const [coding, body] of [
    ['identity', Buffer.from(text)],
    ['gzip', gzipSync(text)],
  ] as const) {
    const server = await serving(t, head(`Content-Encoding: ${coding}`), body);
    const read = async (options: Partial<RequestOptions>): Promise<[number, boolean]> => {
      using response = await server.request(options);
      const { length } = await response.bytes();
      return [length, response.truncated];
    };
    t.deepEqual(await read({ maxBytes: 1001 }), [1001, false]);
    t.deepEqual(await read({ maxBytes: 1000, overflow: 'truncate' }), [1000, true]);
    t.is(await codeOf(() => read({ maxBytes: 1000 })), 'source_too_large');
    t.is(await codeOf(() => read({ maxBytes: 1000, overflow: 'target_failed' })), 'target_failed');
  }
});

test('from one megabyte on, the ratio of decoded to encoded size is limited', async (t) => {
  const grown = async (bytes: number): Promise<string> => {
    const server = await serving(t, head('Content-Encoding: gzip'), gzipSync(Buffer.alloc(bytes)));
    return codeOf(async () => {
      using response = await server.request({ maxBytes: 50_000_000 });
      await response.bytes();
    });
  };
  t.is(await grown(900_000), 'ok');
  t.is(await grown(2_000_000), 'source_too_large');
});

test('the connection closes after the response, whether its body was read or not, and after every failure', async (t) => {
  const server = await scripted(t, async function* () {
    yield head('Content-Length: 1000');
    yield 'x'.repeat(1000);
    await sleep(600_000, undefined, { ref: false });
  });
  const read = await server.request();
  await read.bytes();
  const unread = await server.request();
  unread.close();
  unread.close();
  const part = await server.request();
  for await (const chunk of part.body) {
    t.true(chunk.length > 0);
    break;
  }
  const forgotten = await server.request({ deadline: Date.now() + 4000 });
  t.is(
    await codeOf(() => server.request({ signal: AbortSignal.abort(new ServiceError('internal')) })),
    'internal',
  );
  await until('all connections are closed', async () => server.open() === 0);
  t.is(await codeOf(() => forgotten.bytes()), 'deadline_exceeded');
});

test('an abort ends a download with the reason of the abort', async (t) => {
  const server = await serving(t, head('Content-Length: 1000'), 'x');
  const controller = new AbortController();
  const reason = new Error('enough');
  using response = await server.request({ signal: controller.signal });
  controller.abort(reason);
  const error = await t.throwsAsync(async () => response.bytes());
  t.is(error, reason);
});

test('failures have a kind and reveal no addresses', async (t) => {
  const closed = await serving(t);
  closed.close();
  const kinds: [FailureKind, Server][] = [
    ['refused', closed],
    ['reset', await serving(t)],
    ['protocol', await serving(t, 'SSH-2.0-OpenSSH_9.2\r\n')],
  ];
  for (const [kind, server] of kinds) {
    const error = await t.throwsAsync(() => server.request(), { instanceOf: ServiceError });
    t.is(error.code, 'target_failed');
    t.is(failureKind(error), kind);
    t.notRegex(error.detail, /127|\d{4}/);
  }
});
