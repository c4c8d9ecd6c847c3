import { execFile } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { makeCertificate } from '../helpers/certificates.ts';
import { codeOf, guardFor, listen, stubNetwork } from '../helpers/egress.ts';
import { startHostile, startRaw } from '../helpers/http.ts';
import { seededRandom } from '../helpers/random.ts';
import { loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

const run = promisify(execFile);
const tool = await loadTool('http-request');

type Fields = Record<string, unknown>;

/** Calls the tool for a path of a server on loopback. */
const ask = (port: number, path: string, input: Fields = {}, ms = 20_000): Promise<Fields> =>
  tool.call(
    { url: `http://127.0.0.1:${port}${path}`, ...input },
    { egress: guardFor(port), deadline: Date.now() + ms },
  );

/** Starts a server that sends these bytes on every connection and then closes the connection. */
async function serving(t: ExecutionContext, ...parts: (string | Buffer)[]) {
  const server = await startRaw(() => parts);
  t.teardown(server.close);
  return { ...server, ask: (input: Fields = {}) => ask(server.port, '/', input) };
}

interface Seen {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingHttpHeaders;
  raw: string[];
  body: Buffer;
}

/** Starts a server that records the requests it receives. */
async function startMirror(t: ExecutionContext): Promise<{ port: number; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    seen.push({
      method: request.method,
      url: request.url,
      headers: request.headers,
      raw: request.rawHeaders,
      body,
    });
    response.end();
  });
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: await listen(server), seen };
}

const head = (...lines: string[]): string => `${['HTTP/1.1 200 OK', ...lines].join('\r\n')}\r\n\r\n`;
const bytesOf = ({ body, bodyEncoding }: Fields): Buffer =>
  Buffer.from(String(body), bodyEncoding === 'base64' ? 'base64' : 'utf8');

/** Runs curl. Returns the status, the header fields by lower-case name, and the bytes of the body. */
async function curl(port: number, options: readonly string[] = [], input = '') {
  const baseOptions = ['-sS', '--compressed', '-w', '%{stderr}%{http_code} %{header_json}'];
  const program = run('curl', [...baseOptions, ...options, `http://127.0.0.1:${port}/`], {
    encoding: 'buffer',
  });
  program.child.stdin?.end(input);
  const { stdout: body, stderr } = await program;
  const [, status, json = ''] = /^(\d+) (.*)$/s.exec(stderr.toString()) ?? [];
  const headers: Record<string, string[]> = JSON.parse(json);
  const single = Object.entries(headers).map(([name, values]) => [
    name,
    values.length === 1 ? values[0] : values,
  ]);
  return { status: Number(status), headers: Object.fromEntries(single), body };
}

const TEXT = 'All work and no play makes Jack a dull boy.\n'.repeat(50);
const RESPONSES: Record<string, (string | Buffer)[]> = {
  plain: [head('Content-Type: text/plain', 'Content-Length: 5'), 'hello'],
  'until the end': [head(), TEXT],
  'HTTP/1.0': ['HTTP/1.0 200 OK\r\nX-A: b\r\n\r\n', 'hello'],
  chunked: [head('Transfer-Encoding: chunked'), '5;a=b\r\nhello\r\n', '0\r\nX-Trailer: t\r\n\r\n'],
  gzip: [head('Content-Encoding: gzip'), gzipSync(TEXT)],
  deflate: [head('Content-Encoding: deflate'), deflateSync(TEXT)],
  br: [head('Content-Encoding: br'), brotliCompressSync(TEXT)],
  zstd: [head('Content-Encoding: zstd'), zstdCompressSync(TEXT)],
  'zstd of several frames': [
    head('Content-Encoding: zstd'),
    Buffer.concat([
      zstdCompressSync('one '),
      zstdCompressSync(''),
      zstdCompressSync('two '),
      zstdCompressSync(TEXT),
    ]),
  ],
  stacked: [head('Content-Encoding: gzip, br'), brotliCompressSync(gzipSync(TEXT))],
  'set-cookie': [head('Set-Cookie: a=1; Path=/', 'Set-Cookie: b=2', 'set-cookie: c=3', 'X-One: 1'), ''],
  'names of objects': [head('__proto__: a', 'constructor: b', 'toString: c', 'toString: d'), ''],
  folded: [head('X-Folded: one\r\n two'), 'hello'],
  utf8: [head('Content-Type: text/plain; charset=utf-8'), 'grüße'],
  redirect: ['HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n'],
  'no content': ['HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n', 'hello'],
  'not modified': ['HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: "a"\r\n\r\n'],
  'server error': ['HTTP/1.1 500 Oh No\r\nContent-Length: 4\r\n\r\n', 'oops'],
  'unknown status': ['HTTP/1.1 799 Odd\r\nContent-Length: 0\r\n\r\n'],
  interim: [
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n',
    head(),
    'hello',
  ],
  'folded after spaces': [head('X-Folded: one  \r\n \t two', 'Content-Length: 5'), 'hello'],
  'repeated length': [head('Content-Length: 5', 'Content-Length: 5'), 'hello'],
  'a list of lengths': [head('Content-Length: 5, 5'), 'hello'],
  'odd names': [head('X A(): b', 'X@/: c', ': d', 'Content-Length: 5'), 'hello'],
  'bare line feeds': ['HTTP/1.1 200 OK\nX-A: a\nContent-Length: 5\n\nhello'],
  'chunks with bare line feeds': [head('Transfer-Encoding: chunked'), '5\nhello\n0\n\n'],
  'chunked twice': [
    head('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'),
    '5 ;a\r\nhello\r\n0\r\n\r\n',
  ],
  'both lengths': [head('Transfer-Encoding: chunked', 'Content-Length: 9'), '5\r\nhello\r\n0\r\n\r\n'],
  'an old transfer coding': [head('Transfer-Encoding: identity'), 'hello'],
  'an odd status line': ['http/2  200\r\nContent-Length: 5\r\n\r\nhello'],
  image: [head('Content-Type: image/png'), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  'all bytes': [head(), Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
};
for (const [name, parts] of Object.entries(RESPONSES))
  test(`a response is read as curl reads it: ${name}`, async (t) => {
    const server = await serving(t, ...parts);
    const ours = await server.ask();
    const theirs = await curl(server.port);
    t.is(ours.statusCode, theirs.status);
    t.deepEqual(ours.headers, theirs.headers);
    t.deepEqual(bytesOf(ours), theirs.body);
    t.true(Number.isInteger(ours.elapsedMs));
  });

test('header values are decoded as UTF-8, or as Latin-1 where they are not valid UTF-8', async (t) => {
  const sent = head('X-UTF8: caf\u00c3\u00a9', 'X-Latin: caf\u00e9');
  const { headers } = await (await serving(t, Buffer.from(sent, 'latin1'))).ask();
  t.deepEqual(headers, { 'x-utf8': 'café', 'x-latin': 'café' });
});

test('the tool sends the same request as curl', async (t) => {
  const { port, seen } = await startMirror(t);
  const requests: [string, Record<string, string | string[]>, string | undefined][] = [
    ['GET', {}, undefined],
    ['POST', { 'Content-Type': 'application/json' }, '{"a":"\u{1f4a9} \\n"}'],
    ['POST', { 'X-Many': ['1', '2', '3'] }, undefined],
    ['PUT', { 'X-Name': 'grüße ☃' }, 'line\r\nline\0'],
    ['PATCH', { Authorization: 'Bearer abc', Cookie: 'a=1' }, 'x'.repeat(500_000)],
    ['DELETE', { 'user-agent': 'me', accept: 'a/b' }, 'why'],
    ['DELETE', {}, undefined],
    ['OPTIONS', { Origin: 'https://example.com', 'X-Proto': '__proto__' }, undefined],
    ['POST', { Expect: '100-continue' }, 'now'],
  ];
  for (const [method, headers, body] of requests) {
    await ask(port, '/', { method, headers, ...(body === undefined ? {} : { body }) });
    const lines = Object.entries(headers).flatMap(([name, values]) =>
      [values].flat().map((value) => `${name}: ${value}`),
    );
    const [ours] = seen.splice(0);
    const data = body === undefined ? [] : ['--data-binary', '@-'];
    await curl(port, ['-X', method, ...lines.flatMap((line) => ['-H', line]), ...data], body);
    const [theirs] = seen.splice(0);
    t.is(ours?.method, method);
    t.is(theirs?.method, method);
    t.deepEqual(ours?.body, theirs?.body);
    for (const name of Object.keys(headers).map((key) => key.toLowerCase()))
      t.deepEqual(ours?.headers[name], theirs?.headers[name], name);
  }
});

test("headers may be an object or its JSON text; they are sent in order, with the URL's host as Host", async (t) => {
  const { port, seen } = await startMirror(t);
  const headers = {
    'X-B': 'b',
    'X-A': ['1', '2'],
    Host: `127.0.0.1:${port}`,
    'Accept-Encoding': 'identity',
    'x-b': 'c',
  };
  await ask(port, '/a%20b?c=ü#d', { headers });
  await ask(port, '/a%20b?c=ü#d', { headers: JSON.stringify(headers) });
  const [object, text] = seen;
  t.is(object?.url, '/a%20b?c=%C3%BC');
  t.deepEqual(object?.raw, text?.raw);
  t.deepEqual(object?.raw.slice(0, 2), ['Host', `127.0.0.1:${port}`]);
  t.is(object?.raw.filter((name) => name.toLowerCase() === 'host').length, 1);
  t.is(object?.headers['accept-encoding'], 'identity');
  t.deepEqual(
    object?.raw.filter((_, index) => /^x-/i.test(object.raw[index - (index % 2)] ?? '')),
    [...['X-B', 'b', 'X-A', '1', 'X-A', '2', 'x-b', 'c']],
  );
});

test('https requires a certificate that is valid for the host', async (t) => {
  const certificate = await makeCertificate(['DNS:example.com']);
  const network = await stubNetwork({ certificate });
  t.teardown(network.close);
  const { guard: egress } = network;
  t.like(await tool.call({ url: 'https://example.com/' }, { egress }), { statusCode: 200, body: 'hello' });
  t.is(await codeOf(() => tool.call({ url: 'https://www.example.com/' }, { egress })), 'target_failed');
});

test('a response that arrives before the request body was read is accepted', async (t) => {
  const server = await serving(t, 'HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno');
  const answer = await server.ask({ method: 'POST', body: 'x'.repeat(1_000_000) });
  t.like(answer, { statusCode: 413, body: 'no' });
});

const type = (value: string): string => head(`Content-Type: ${value}`);
const BODIES: [what: string, header: string, bytes: Buffer, text: string | null][] = [
  // The bytes of these texts come from the indexes of the WHATWG Encoding Standard.
  ['Shift_JIS', type('text/html; charset=Shift_JIS'), Buffer.from('93fa967b8cea', 'hex'), '日本語'],
  ['EUC-JP', type('text/html;charset="euc-jp"'), Buffer.from('c6fccbdcb8ec', 'hex'), '日本語'],
  ['ISO-2022-JP', type('text/plain; charset=iso-2022-jp'), Buffer.from('1b2442467c1b2842', 'hex'), '日'],
  ['GBK', type('text/html; CHARSET=gb2312'), Buffer.from('d6d0cec4', 'hex'), '中文'],
  ['UHC', type('text/html; charset=euc-kr'), Buffer.from('8141b0a1c652', 'hex'), '갂가힣'],
  ['HKSCS', type('text/plain; charset=big5'), Buffer.from('87408862a440', 'hex'), '䏰\u{ca}\u{304}一'],
  [
    'controls in Shift_JIS',
    type('text/plain; charset=shift_jis'),
    Buffer.from('7f80', 'hex'),
    '\u{7f}\u{80}',
  ],
  ['KOI8-R', type('text/html; charset=koi8-r'), Buffer.from('f0d2c9d7c5d4', 'hex'), 'Привет'],
  ['Latin-1', type('text/html; charset=iso-8859-1'), Buffer.from('e9208093', 'hex'), 'é €“'],
  ['UTF-16', type('text/plain; charset=utf-16'), Buffer.from('é☃', 'utf16le'), 'é☃'],
  ['BOM before charset', type('text/plain; charset=koi8-r'), Buffer.from('\ufeffé☃'), 'é☃'],
  ['BOM of UTF-16BE', type('text/plain'), Buffer.from('feff00e92603', 'hex'), 'é☃'],
  ['BOM without a type', head(), Buffer.from('\ufeffé☃', 'utf16le'), 'é☃'],
  ['UTF-8 undeclared', type('text/html'), Buffer.from('grüße'), 'grüße'],
  [
    '<meta charset>',
    type('text/html'),
    Buffer.concat([
      Buffer.from('<!doctype html><meta charset=Shift_JIS>'),
      Buffer.from('93fa967b8cea', 'hex'),
    ]),
    '<!doctype html><meta charset=Shift_JIS>日本語',
  ],
  [
    '<meta http-equiv>',
    type('text/html'),
    Buffer.concat([
      Buffer.from('<meta http-equiv=content-type content="text/html; charset=koi8-r">'),
      Buffer.from('f0d2', 'hex'),
    ]),
    '<meta http-equiv=content-type content="text/html; charset=koi8-r">Пр',
  ],
  [
    '<meta> without a type',
    head(),
    Buffer.concat([Buffer.from('<html><meta charset="gbk">'), Buffer.from('d6d0', 'hex')]),
    '<html><meta charset="gbk">中',
  ],
  [
    '<meta> of UTF-16, which means UTF-8',
    type('text/html'),
    Buffer.from('<meta charset=utf-16>é'),
    '<meta charset=utf-16>é',
  ],
  [
    'a charset before <meta>',
    type('text/html; charset=utf-8'),
    Buffer.from('<meta charset=koi8-r>é'),
    '<meta charset=koi8-r>é',
  ],
  [
    '<meta> in plain text',
    type('text/plain'),
    Buffer.from('<meta charset=koi8-r>é'),
    '<meta charset=koi8-r>é',
  ],
  [
    'an XML declaration',
    type('application/atom+xml'),
    Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>\u00e9</a>', 'latin1'),
    '<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>',
  ],
  [
    'an XML declaration in HTML',
    type('text/html'),
    Buffer.concat([Buffer.from('<?xml version="1.0" encoding="euc-jp"?><p>'), Buffer.from('c6fc', 'hex')]),
    '<?xml version="1.0" encoding="euc-jp"?><p>日',
  ],
  [
    'an XML declaration without a type',
    head(),
    Buffer.from('<?xml version="1.0" encoding="koi8-r"?><a>\u00f0</a>', 'latin1'),
    '<?xml version="1.0" encoding="koi8-r"?><a>П</a>',
  ],
  [
    '<meta> in XML, which declares nothing there',
    type('text/xml'),
    Buffer.from('<meta charset="koi8-r"/>'),
    '<meta charset="koi8-r"/>',
  ],
  ['JSON', type('application/json'), Buffer.from('{"a":"ü"}'), '{"a":"ü"}'],
  [
    'windows-1252 undeclared',
    type('text/html'),
    Buffer.from('caf\u00e9 \u0093x\u0094', 'latin1'),
    'café “x”',
  ],
  ['an unknown charset', type('text/html; charset=utf-7'), Buffer.from('é'), 'é'],
  ['a wrong charset', type('text/html; charset=utf-8'), Buffer.from('61ff62', 'hex'), 'a\ufffdb'],
  ['the last of two types', head('Content-Type: image/png', 'Content-Type: text/a'), Buffer.from('a'), 'a'],
  ['no readable type', type('text'), Buffer.from('grüße'), 'grüße'],
  ['text with a generic type', type('application/octet-stream'), Buffer.from('grüße\n'), 'grüße\n'],
  ['SVG', type('image/svg+xml'), Buffer.from('<svg/>'), '<svg/>'],
  ['NUL in text', type('text/plain'), Buffer.from('a\0b'), 'a\0b'],
  ['gzip declared as text', type('text/plain; charset=utf-8'), gzipSync('a'), null],
  ['bytes with a generic type', type('application/octet-stream'), Buffer.from([1, 2, 3]), null],
  ['bytes that look like a BOM', type('application/octet-stream'), Buffer.from('fffe0041', 'hex'), null],
  ['an image of ASCII bytes', type('image/gif'), Buffer.from('GIF89a'), null],
  ['an unknown coding', head('Content-Encoding: compress'), Buffer.from('as it is'), null],
];
for (const [what, header, bytes, text] of BODIES)
  test(`a body is returned as text if it is text, else as base64: ${what}`, async (t) => {
    const { body, bodyEncoding } = await (await serving(t, header, bytes)).ask();
    t.deepEqual(
      { body, bodyEncoding },
      text === null
        ? { body: bytes.toString('base64'), bodyEncoding: 'base64' }
        : { body: text, bodyEncoding: 'text' },
    );
  });

test('a body may have 5 MB after decoding, and one byte more is refused', async (t) => {
  const limit = 5 * 1024 * 1024;
  // Random blocks, so that no content coding compresses the body by a factor of a hundred.
  const text = seededRandom(t.log)
    .bytes(limit / 32)
    .toString('hex')
    .repeat(16);
  for (const encode of [(bytes: string) => Buffer.from(bytes), gzipSync]) {
    const coding = head(`Content-Encoding: ${encode === gzipSync ? 'gzip' : 'identity'}`);
    const whole = await serving(t, coding, encode(text));
    t.is(String((await whole.ask()).body).length, limit);
    const more = await serving(t, coding, encode(`${text}x`));
    t.is(await codeOf(() => more.ask()), 'source_too_large');
  }
});

/** One response for each reason; test/egress/hostile.test.ts downloads all of them. */
const ENDS: Record<string, string> = {
  '/dense-thrice': 'source_too_large',
  '/announced-60-mb': 'source_too_large',
  '/truncated-zstd': 'target_failed',
  '/half-chunked': 'target_failed',
  '/giant-header': 'target_failed',
  '/upgrade': 'target_failed',
  '/drip': 'target_timeout',
};
for (const [path, code] of Object.entries(ENDS))
  test(`a hostile server leads to the expected error code: ${path}`, async (t) => {
    const server = await startHostile();
    t.teardown(server.close);
    const ms = code === 'target_timeout' ? 5_000 : 60_000;
    t.is(await codeOf(() => ask(server.port, path, {}, ms)), code);
    await until('the connection is closed', async () => server.open() === 0);
    t.is(server.requests.length, 1);
  });

test('a refused connection is target_failed', async (t) => {
  const server = await serving(t);
  server.close();
  t.is(await codeOf(() => server.ask()), 'target_failed');
});

test('requests with unsafe methods are sent once, even if they fail', async (t) => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    t.true(tool.definition.actsOnWorld?.({ url: 'http://example.com/', method }), method);
    const server = await serving(t);
    t.is(await codeOf(() => server.ask({ method, body: 'a' })), 'target_failed');
    t.is(server.requests.length, 1);
  }
  for (const method of ['GET', 'HEAD', 'OPTIONS'])
    t.false(tool.definition.actsOnWorld?.({ url: 'http://example.com/', method }), method);
});

test('a late response reports its duration', async (t) => {
  const server = await startRaw(async function* () {
    await sleep(300);
    yield head('Content-Length: 2');
    yield 'o';
    await sleep(300);
    yield 'k';
  });
  t.teardown(server.close);
  const { body, elapsedMs } = await ask(server.port, '/');
  t.is(body, 'ok');
  t.true(Number(elapsedMs) >= 590, String(elapsedMs));
});
