import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { codeOf, guardFor } from '../helpers/egress.ts';
import { startRaw } from '../helpers/http.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('http-request');

type Fields = Record<string, unknown>;

/** Starts a server that sends these bytes on every connection and then closes the connection. */
async function serving(t: ExecutionContext, ...parts: (string | Buffer)[]) {
  const { port, close } = await startRaw(() => parts);
  t.teardown(close);
  return { ask: () => tool.call({ url: `http://127.0.0.1:${port}/` }, { egress: guardFor(port) }) };
}

const head = (...lines: string[]): string => `${['HTTP/1.1 200 OK', ...lines].join('\r\n')}\r\n\r\n`;
const TEXT = 'All work and no play makes Jack a dull boy.\n'.repeat(50);

const FLAWED: [warning: string, lines: string[], body: string, headers: Fields][] = [
  ['space_before_colon', ['X-A : b', 'Content-Length\t: 5'], 'hello!', { 'x-a': 'b', 'content-length': '5' }],
  ['invalid_header_name', ['X A(): b', ': c'], 'hello', { 'x a()': 'b', '': 'c' }],
  ['bare_cr', ['X-A: a\rX-B: c', 'X-C: d\r'], 'hello', { 'x-a': 'a\rX-B: c', 'x-c': 'd' }],
  ['nul_in_header', ['X-A: a\0b'], 'hello', { 'x-a': 'a\0b' }],
  ['control_character', ['X-A: a\x7fb'], 'hello', { 'x-a': 'a\x7fb' }],
  ['folded_header', ['X-A: a', '\tb', 'X-C: d'], 'hello', { 'x-a': 'a b', 'x-c': 'd' }],
  ['ignored_line', [' X-A: a', 'hello', 'X-C: d'], 'hello', { 'x-c': 'd' }],
  ['repeated_content_length', ['Content-Length: 5,5'], 'hello!', { 'content-length': '5,5' }],
];
for (const [warning, lines, body, headers] of FLAWED)
  test(`a faulty but readable response is returned with a warning: ${warning}`, async (t) => {
    const answer = await (await serving(t, head(...lines), body)).ask();
    t.deepEqual(answer.headers, headers);
    t.deepEqual([answer.statusCode, answer.body, answer.warnings], [200, 'hello', [warning]]);
  });

test('several warnings, including those about chunks, are each reported once; a valid response has none', async (t) => {
  const chunks = '2\nhe\r\n3\nllo\r\n0\r\nX-T : a\r\n\r\n';
  const flawed = await serving(
    t,
    'HTTP/1.2 200\r\nContent-Length: 5\r\nTransfer-Encoding: chunked, chunked\r\n\r\n',
    chunks,
  );
  t.like(await flawed.ask(), {
    body: 'hello',
    warnings: ['odd_status_line', 'length_and_transfer_encoding', 'repeated_chunked', 'bare_lf'],
  });
  const valid = await serving(t, head('X-A: grüße', 'Content-Length: 5', 'X-Empty:'), 'hello');
  t.like(await valid.ask(), { headers: { 'x-a': 'grüße', 'x-empty': '' }, warnings: [] });
});

test('transfer codings are decoded before content codings', async (t) => {
  const chunked = (bytes: Buffer): Buffer =>
    Buffer.concat([
      Buffer.from(`1\r\n`),
      bytes.subarray(0, 1),
      Buffer.from(`\r\n${(bytes.length - 1).toString(16)}\r\n`),
      bytes.subarray(1),
      Buffer.from('\r\n0\r\n\r\n'),
    ]);
  const bodies: [lines: string[], body: Buffer][] = [
    [['Transfer-Encoding: gzip, chunked'], chunked(gzipSync(TEXT))],
    [['Transfer-Encoding: deflate', 'Transfer-Encoding: Chunked'], chunked(deflateSync(TEXT))],
    [['Transfer-Encoding: gzip'], gzipSync(TEXT)],
    [
      ['Content-Encoding: br', 'Transfer-Encoding: x-gzip, chunked'],
      chunked(gzipSync(brotliCompressSync(TEXT))),
    ],
  ];
  for (const [lines, body] of bodies) {
    const server = await serving(t, head('Content-Type: text/plain', ...lines), body);
    t.is((await server.ask()).body, TEXT, lines.join());
  }
  const unknown = await serving(t, head('Transfer-Encoding: rot13, chunked'), chunked(Buffer.from('uryyb')));
  t.like(await unknown.ask(), { body: Buffer.from('uryyb').toString('base64'), bodyEncoding: 'base64' });
  const above = await serving(
    t,
    head('Transfer-Encoding: chunked, gzip'),
    gzipSync(chunked(Buffer.from('ab'))),
  );
  t.is(await codeOf(() => above.ask()), 'target_failed');
});

const UNREADABLE: Record<string, string[]> = {
  'lengths that differ': ['Content-Length: 5', 'Content-Length: 4'],
  'a negative length': ['Content-Length: -5'],
  'a length in words': ['Content-Length: 5 bytes'],
  'no length': ['Content-Length:'],
};
for (const [what, lines] of Object.entries(UNREADABLE))
  test(`a response whose end is ambiguous is target_failed: ${what}`, async (t) => {
    const server = await serving(t, head(...lines), 'hello');
    t.is(await codeOf(() => server.ask()), 'target_failed');
  });
