import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { createGuard, type Guard } from '../../egress/guard.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { type Certificate, issueCertificate } from '../helpers/certificates.ts';
import { closing, guardFor, listen, stubNetwork } from '../helpers/egress.ts';
import { startRaw } from '../helpers/http.ts';
import { loadTool } from '../helpers/tool.ts';

const run = promisify(execFile);
const tool = await loadTool('http-request');
const authority = await issueCertificate({ subject: '/CN=Test CA', issuer: null, authority: true });
const own = await issueCertificate({ subject: '/', names: ['IP.1=127.0.0.1'], issuer: authority });

type Fields = Record<string, unknown>;

const secureGuard = (port: number): Guard =>
  createGuard({
    resolver: { addresses: () => Promise.reject(new Error('unexpected lookup')) },
    allow: [parseAllow(`127.0.0.1:${port}`)],
    ownPorts: [],
    ca: [authority.cert],
  });

/** Reads the head of a request, responds, and closes the connection with the rest of the body unread. */
function refuseEarly(socket: Socket): void {
  let head = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    if (head.includes('\r\n\r\n')) return;
    head += chunk.toString('latin1');
    if (!head.includes('\r\n\r\n')) return;
    socket.pause();
    const response =
      'HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 7\r\n\r\ntoo big';
    socket.write(response, () => socket.destroy());
  });
}

for (const [scheme, create] of [
  ['http', () => createTcpServer(refuseEarly)],
  ['https', () => createTlsServer({ ...own }, refuseEarly)],
] as const)
  test(`a response before the end of the request is returned, however large the request is: ${scheme}`, async (t) => {
    const server = create();
    closing(t, server);
    const port = await listen(server);
    for (const size of [70_000, 300_000, 999_999])
      for (let round = 0; round < 20; round++) {
        const input = { url: `${scheme}://127.0.0.1:${port}/`, method: 'POST', body: 'x'.repeat(size) };
        const { statusCode, body } = await tool.call(input, { egress: secureGuard(port) });
        t.deepEqual([statusCode, body], [413, 'too big'], `${size} bytes, round ${round}`);
      }
  });

test('a connection that breaks without a response is still a failure', async (t) => {
  const server = createTcpServer((socket) => socket.once('data', () => socket.destroy()));
  closing(t, server);
  const port = await listen(server);
  const input = { url: `http://127.0.0.1:${port}/`, method: 'POST', body: 'x'.repeat(999_999) };
  const error = await t.throwsAsync(tool.call(input, { egress: guardFor(port) }), {
    instanceOf: ServiceError,
  });
  t.is(error?.code, 'target_failed');
});

const JSON_TEXT = Buffer.from(JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id }))));
/** Like a server with files compressed in advance: it chooses the coding first, and takes the range of the encoded bytes. */
const ranges: RequestListener = (request, response) => {
  const encoded = /gzip/.test(request.headers['accept-encoding'] ?? '');
  const bytes = encoded ? gzipSync(JSON_TEXT) : JSON_TEXT;
  const [, first = '0', last = `${bytes.length - 1}`] =
    /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  const end = Math.min(Number(last || bytes.length - 1), bytes.length - 1);
  response.writeHead(206, {
    'Content-Type': 'application/json',
    'Content-Range': `bytes ${first}-${end}/${bytes.length}`,
    ...(encoded ? { 'Content-Encoding': 'gzip' } : {}),
  });
  response.end(bytes.subarray(Number(first), end + 1));
};

async function startRanges(t: ExecutionContext) {
  const server = createServer(ranges);
  closing(t, server);
  const port = await listen(server);
  const url = `http://127.0.0.1:${port}/`;
  return {
    url,
    ask: (headers: Fields): Promise<Fields> => tool.call({ url, headers }, { egress: guardFor(port) }),
  };
}

test('a range is one of the unencoded representation, as with fetch', async (t) => {
  const { url, ask } = await startRanges(t);
  for (const range of ['bytes=100-199', 'bytes=0-9', 'bytes=1000-']) {
    const { statusCode, body, bodyEncoding } = await ask({ Range: range });
    const oracle = await fetch(url, { headers: { Range: range } });
    t.deepEqual([statusCode, body, bodyEncoding], [oracle.status, await oracle.text(), 'text'], range);
  }
});

test('a part of an encoded body is returned undecoded, and the whole of one is decoded', async (t) => {
  const { ask } = await startRanges(t);
  const encoded = gzipSync(JSON_TEXT);
  t.like(await ask({ Range: 'bytes=10-29', 'Accept-Encoding': 'gzip' }), {
    statusCode: 206,
    body: encoded.subarray(10, 30).toString('base64'),
    bodyEncoding: 'base64',
  });
  t.like(await ask({ range: 'bytes=0-', 'accept-encoding': 'gzip' }), {
    body: JSON_TEXT.toString(),
    bodyEncoding: 'text',
  });
});

/** Starts a TLS server that responds without a length, and ends TLS with or without `close_notify`. */
async function startUnframed(
  t: ExecutionContext,
  version: 'TLSv1.2' | 'TLSv1.3',
  cut: boolean,
  body: string,
) {
  const server = createTlsServer({ ...own, minVersion: version, maxVersion: version, allowHalfOpen: true });
  closing(t, server);
  server.on('connection', (raw: Socket) =>
    server.once('secureConnection', (secure: Socket) => {
      secure.on('error', () => undefined);
      secure.once('data', () =>
        secure.write(`HTTP/1.1 200 OK\r\n\r\n${body}`, () => (cut ? raw.end() : secure.end())),
      );
    }),
  );
  const port = await listen(server);
  return () => tool.call({ url: `https://127.0.0.1:${port}/` }, { egress: secureGuard(port) });
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
  test(`a TLS body without a length that may be cut off has a warning: ${version}`, async (t) => {
    for (const body of ['hello', 'hi', 'x'.repeat(1_000_000)]) {
      const whole = await (await startUnframed(t, version, false, body))();
      t.deepEqual([whole.body, whole.warnings], [body, []]);
      const cut = await (await startUnframed(t, version, true, body))();
      t.deepEqual([cut.body, cut.warnings], [body, ['missing_close_notify']]);
    }
  });

test('a server that does not speak TLS is a failure, not a timeout', async (t) => {
  for (const greeting of ['HTTP/1.1 400 Bad Request\r\n\r\n', '220 mail\r\n', '\0\0\0\0\0\0']) {
    const server = createTcpServer((socket) => socket.write(greeting));
    closing(t, server);
    const port = await listen(server);
    const call = tool.call(
      { url: `https://127.0.0.1:${port}/` },
      { egress: secureGuard(port), deadline: Date.now() + 20_000 },
    );
    t.is((await t.throwsAsync(call, { instanceOf: ServiceError }))?.code, 'target_failed', greeting);
  }
});

test('without close_notify, a body with a length has no warning', async (t) => {
  const server = createTlsServer({ ...own });
  closing(t, server);
  server.on('connection', (raw: Socket) =>
    server.once('secureConnection', (secure: Socket) =>
      secure.once('data', () =>
        secure.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', () => raw.end()),
      ),
    ),
  );
  const port = await listen(server);
  const { body, warnings } = await tool.call(
    { url: `https://127.0.0.1:${port}/` },
    { egress: secureGuard(port) },
  );
  t.deepEqual([body, warnings], ['hello', []]);
});

const named = { names: ['DNS.1=one.example'], issuer: authority };
const CERTIFICATES: [what: string, code: string, make: () => Promise<Certificate>][] = [
  ['it has expired', 'CERT_HAS_EXPIRED', () => issueCertificate({ ...named, subject: '/', days: -1 })],
  [
    'it is self-signed',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    () => issueCertificate({ subject: '/CN=one.example', issuer: null }),
  ],
  [
    'it is not for this host',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    () => issueCertificate({ ...named, subject: '/', names: ['DNS.1=two.example'] }),
  ],
];
for (const [what, code, make] of CERTIFICATES)
  test(`the reason why a certificate is not valid is in the detail: ${code}`, async (t) => {
    using network = await stubNetwork({ certificate: await make(), ca: [authority.cert] });
    const error = await t.throwsAsync(tool.call({ url: 'https://one.example/' }, { egress: network.guard }), {
      instanceOf: ServiceError,
    });
    t.is(error?.code, 'target_failed');
    t.is(error?.detail, `The certificate of the target is not valid: ${what} (${code}).`);
  });

test('trailers and interim responses are in the output', async (t) => {
  const server = createServer((_, response) => {
    response.writeProcessing();
    response.writeEarlyHints({ link: ['</a.css>; rel=preload', '</b.js>; rel=preload'] });
    response.writeHead(200, { Trailer: 'Digest, X-Part' });
    response.write('hello');
    response.addTrailers([
      ['Digest', 'sha-256=x'],
      ['X-Part', 'a'],
      ['X-Part', 'b'],
    ]);
    response.end();
  });
  closing(t, server);
  const port = await listen(server);
  const output = await tool.call({ url: `http://127.0.0.1:${port}/` }, { egress: guardFor(port) });
  t.like(output, { body: 'hello', trailers: { digest: 'sha-256=x', 'x-part': ['a', 'b'] }, warnings: [] });
  t.deepEqual(output.interimResponses, [
    { statusCode: 102, headers: {} },
    { statusCode: 103, headers: { link: '</a.css>; rel=preload, </b.js>; rel=preload' } },
  ]);
});

test('a response without trailers and interim responses has empty ones', async (t) => {
  const { port, close } = await startRaw(() => ['HTTP/1.1 204 No Content\r\n\r\n']);
  t.teardown(close);
  const output = await tool.call({ url: `http://127.0.0.1:${port}/` }, { egress: guardFor(port) });
  t.like(output, { trailers: {}, interimResponses: [] });
});

for (const words of ['none', 'UTF-8', 'aws-chunked', '8bit', 'binary, identity'])
  test(`a Content-Encoding that names no coding is ignored, as by browsers: ${words}`, async (t) => {
    const { port, close } = await startRaw(() => [
      `HTTP/1.1 200 OK\r\nContent-Encoding: ${words}\r\n\r\nhello`,
    ]);
    t.teardown(close);
    const output = await tool.call({ url: `http://127.0.0.1:${port}/` }, { egress: guardFor(port) });
    t.like(output, { body: 'hello', bodyEncoding: 'text', headers: { 'content-encoding': words } });
  });

test('a coding beside words that name none is decoded', async (t) => {
  const { port, close } = await startRaw(() => [
    'HTTP/1.1 200 OK\r\nContent-Encoding: aws-chunked,gzip\r\n\r\n',
    gzipSync('hello'),
  ]);
  t.teardown(close);
  t.like(await tool.call({ url: `http://127.0.0.1:${port}/` }, { egress: guardFor(port) }), {
    body: 'hello',
  });
});

const LOG_LINE = `${'2026-01-01T00:00:00Z INFO request served in 12 ms'.padEnd(60, '.')}\n`;
const LIMITS: [what: string, lines: string, body: Buffer, detail: RegExp][] = [
  ['its size', '', Buffer.alloc(6 * 1024 ** 2, 'x'), /larger than 5 MB/],
  ['its announced size', 'Content-Length: 6000000\r\n', Buffer.from('x'), /larger than 5 MB/],
  [
    'its growth',
    'Content-Encoding: gzip\r\n',
    gzipSync(LOG_LINE.repeat(40_000)),
    /more than 100-fold .* 1 MB/,
  ],
];
for (const [what, lines, body, detail] of LIMITS)
  test(`the detail of a refusal says which limit a body exceeds: ${what}`, async (t) => {
    const { port, close } = await startRaw(() => [`HTTP/1.1 200 OK\r\n${lines}\r\n`, body]);
    t.teardown(close);
    const error = await t.throwsAsync(
      tool.call({ url: `http://127.0.0.1:${port}/` }, { egress: guardFor(port) }),
      { instanceOf: ServiceError },
    );
    t.is(error?.code, 'source_too_large');
    t.regex(error?.detail ?? '', detail);
  });

test('curl, too, returns a response before the end of the request', async (t) => {
  const server = createTcpServer(refuseEarly);
  closing(t, server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const options = ['-sS', '-H', 'Expect:', '-w', '%{http_code}', '--data-binary', '@-'];
  const curl = run('curl', [...options, `http://127.0.0.1:${port}/`]);
  curl.child.stdin?.on('error', () => undefined);
  curl.child.stdin?.end('x'.repeat(999_999));
  t.is((await curl).stdout, 'too big413');
});
