import test from 'ava';
import type { Fault } from '../../schemas/errors.ts';
import { codeOf, stubNetwork } from '../helpers/egress.ts';
import { casesOf } from '../helpers/ssrf.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const tool = await loadTool('http-request');
const url = 'http://example.com/';

const pointersOf = (faults: Fault[]): string[] => faults.map(({ pointer }) => pointer);

test('all headers that callers may not set are reported, each with its name', async (t) => {
  const bad: Record<string, string> = {
    'X-Half': '\ud800',
    Connection: 'close',
    'content-length': '5',
    'Keep-Alive': 'timeout=5',
    'Proxy-Authorization': 'Basic eDp5',
    'proxy-connection': 'close',
    TE: 'trailers',
    Trailer: 'X-A',
    'Transfer-Encoding': 'chunked',
    Upgrade: 'h2c',
    Host: 'example.org',
    'X-LF': 'a\nX-B: c',
    'X-CR': 'a\rX-B: c',
    'X-CRLF': 'a\r\n\r\nGET / HTTP/1.1',
    'X-NUL': 'a\0',
    'X-NEL': 'a\u0085b',
    'X A': 'b',
    'X-A:': 'b',
    'X/A': 'b',
    'X-Ä': 'b',
    'X-A\r\nX-B': 'c',
    ':authority': 'example.org',
    '': 'b',
  };
  // Checked in groups, because an error names at most 20 faults.
  const entries = Object.entries(bad);
  for (const some of [entries.slice(0, 12), entries.slice(12)]) {
    const headers = { ...Object.fromEntries(some), 'X-Good': 'tab\tand ümlaut', Accept: '*/*' };
    const expected = some.map(([name]) => `/headers/${name.replaceAll('/', '~1')}`);
    t.deepEqual(pointersOf(await faultsOf(tool, { url, headers })), expected);
    const inText = await faultsOf(tool, { url, headers: JSON.stringify(headers) });
    t.deepEqual(new Set(pointersOf(inText)), new Set(['/headers']));
    t.is(inText.length, expected.length);
    for (const { message } of inText) t.notRegex(message, /example\.org|Basic/);
  }
});

test('a lone surrogate is reported as one fault, wherever it occurs', async (t) => {
  const message = 'contains a lone surrogate, which UTF-8 cannot encode';
  const faults = (input: Record<string, unknown>) => faultsOf(tool, { url, ...input });
  t.deepEqual(await faults({ url: 'http://example.com/\ud800' }), [{ pointer: '/url', message }]);
  t.deepEqual(
    await faults({ headers: { A: ['b', '\udc00'], C: '\ud800' }, method: 'POST', body: '\ud800' }),
    [
      { pointer: '/body', message },
      { pointer: '/headers/C', message },
      { pointer: '/headers/A/1', message },
    ],
  );
  t.deepEqual(await faults({ headers: { 'X/\ud800': '\ud800' } }), [
    { pointer: '/headers/X~1\ud800', message },
    { pointer: '/headers/X~1\ud800', message: 'is not a valid header name' },
  ]);
  t.deepEqual(await faults({ headers: '{"A":"\\ud800"}' }), [
    { pointer: '/headers', message: `contains "A", which ${message}` },
  ]);
  t.deepEqual(await faults({ headers: '\ud800' }), [
    { pointer: '/headers', message },
    { pointer: '/headers', message: 'is not a JSON object' },
  ]);
  t.deepEqual(await faults({ '\ud800': 1 }), [
    { pointer: '/\ud800', message: 'is not a known field' },
    { pointer: '/\ud800', message },
  ]);
  const nested = JSON.parse(`${'['.repeat(30)}"\\ud800"${']'.repeat(30)}`);
  t.is((await faults({ headers: nested })).at(-1)?.pointer, `/headers${'/0'.repeat(30)}`);
});

test('a header without values is reported with its name', async (t) => {
  for (const headers of [{ X: [] }, { Y: 'a', X: [] }]) {
    t.true(pointersOf(await faultsOf(tool, { url, headers })).includes('/headers/X'));
    t.deepEqual(await faultsOf(tool, { url, headers: JSON.stringify(headers) }), [
      { pointer: '/headers', message: 'contains "X", which has no values' },
    ]);
  }
});

test('Host may repeat the host of the URL', async (t) => {
  const faults = async (href: string, host: string | string[]) => {
    const input = { url: href, headers: { host } };
    return codeOf(() => tool.validate(input));
  };
  t.is(await faults('http://example.com/', 'Example.com'), 'ok');
  t.is(await faults('http://example.com/', 'example.com:80'), 'ok');
  t.is(await faults('https://example.com/', 'example.com:443'), 'ok');
  t.is(await faults('http://example.com:8080/', 'example.com:8080'), 'ok');
  t.is(await faults('http://[2606:4700::1]/', '[2606:4700::1]'), 'ok');
  t.is(await faults('http://example.com:8080/', 'example.com'), 'invalid_input');
  t.is(await faults('https://example.com/', 'example.com:80'), 'invalid_input');
  t.is(await faults('http://example.com/', ''), 'invalid_input');
  t.is(await faults('http://example.com/', 'x@example.com'), 'invalid_input');
  t.is(await faults('http://example.com/', ['example.com', 'internal']), 'invalid_input');
});

test('malformed and oversized headers are rejected; headers within the limits are accepted', async (t) => {
  const values = [
    ...['', '{', '[]', 'null', '"a"', 'a: b', '{"A":1}', '{"A":null}', '{"A":["b",1]}', '{"A":{}}'],
    ...[{ A: 1 }, { A: null }, { A: [1] }, { A: {} }, [], null, 1],
  ];
  for (const headers of values)
    for (const pointer of pointersOf(await faultsOf(tool, { url, headers })))
      t.regex(pointer, /^\/headers(\/A(\/0)?)?$/, JSON.stringify(headers));
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, '']));
  const long = (bytes: number) => ({ X: 'a'.repeat(bytes - 5) });
  for (const headers of [many(100), { A: Array(100).fill('b') }, long(32_768), {}]) {
    t.notThrows(() => tool.validate({ url, headers }));
    t.notThrows(() => tool.validate({ url, headers: JSON.stringify(headers) }));
  }
  for (const headers of [many(101), { A: Array(101).fill('b') }, long(32_769), { X: 'ü'.repeat(16_384) }]) {
    t.true(pointersOf(await faultsOf(tool, { url, headers })).includes('/headers'));
    t.true(pointersOf(await faultsOf(tool, { url, headers: JSON.stringify(headers) })).includes('/headers'));
  }
});

test('the sizes of URLs and bodies are limited', async (t) => {
  const bad: [Record<string, unknown>, string[]][] = [
    ...[
      ...['', '/path', 'example.com', 'ftp://example.com/', 'http://', 'http://user@example.com/'],
      ...['http://@example.com/', 'http:\\\\:@example.com\\'],
      ...['http://a..b/', 'file:///etc/passwd', `http://example.com/${'a'.repeat(8_174)}`],
      ...[`http://example.com/${'ü'.repeat(4_087)}`, 'http://example.com/\ud800', 'javascript:alert(1)'],
    ].map((text): [Record<string, unknown>, string[]] => [{ url: text }, ['/url']]),
    [{ url, body: 'a' }, ['/body']],
    [{ url, body: 'a', method: 'HEAD' }, ['/body']],
    [{ url, body: '\udc00', method: 'POST' }, ['/body']],
    [{ url, body: 'a'.repeat(1_000_001), method: 'POST' }, ['/body']],
    [{ url, method: 'get' }, ['/method']],
    [{ url, method: 'TRACE' }, ['/method']],
    [{ url, method: 'CONNECT' }, ['/method']],
    [{ url: 'x', body: 'a', headers: '{' }, ['/url', '/headers', '/body']],
  ];
  for (const [input, pointers] of bad)
    t.deepEqual([...new Set(pointersOf(await faultsOf(tool, input)))], pointers, JSON.stringify(input));
  t.notThrows(() => tool.validate({ url: `http://example.com/${'a'.repeat(8_173)}` }));
  t.notThrows(() => tool.validate({ url, body: '' }));
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    t.notThrows(() => tool.validate({ url, method, body: 'a'.repeat(1_000_000) }));
});

test('targets that are not public are refused before a connection is opened', async (t) => {
  const network = await stubNetwork({});
  t.teardown(network.close);
  for (const { input, why } of casesOf('url').filter(({ verdict }) => verdict === 'refuse')) {
    const code = await codeOf(() => tool.call({ url: input }, { egress: network.guard }));
    t.true(['target_refused', 'invalid_input'].includes(code), `${input}: ${why}: ${code}`);
  }
  for (const port of [22, 25, 6667]) {
    const target = { url: `http://example.com:${port}/` };
    t.is(await codeOf(() => tool.call(target, { egress: network.guard })), 'target_refused');
  }
  t.deepEqual(network.dialled, []);
});
