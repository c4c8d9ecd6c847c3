import test from 'ava';
import { csvRows } from '../../api/batches/csvRows.ts';
import { jsonRows } from '../../api/batches/jsonRows.ts';
import { ndjsonRows } from '../../api/batches/ndjsonRows.ts';
import type { Rows } from '../../api/batches/rowReader.ts';
import { templateOf } from '../../api/dashboard/pages/batches/template.ts';
import { createValidator } from '../../api/http/validator.ts';
import { MAX_ROWS } from '../../schemas/batches.ts';
import type { Fault } from '../../schemas/errors.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { secretFields } from '../../schemas/tool.ts';
import { seededRandom } from '../helpers/random.ts';

const LONGEST = 1000;
const registry = await loadRegistry();
const hash = registry.get('hash-text');
const request = registry.get('http-request');
const screenshot = registry.get('website-screenshot');
if (hash === undefined || request === undefined || screenshot === undefined) throw new Error('no tool');

/** Yields a text in chunks of these sizes, in turn. */
async function* inChunks(text: string | Buffer, ...sizes: number[]): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

interface Read {
  rows: { id: string | null; tool: string; input: unknown }[];
  faults: Fault[];
}

async function read(rows: Rows): Promise<Read> {
  const result: Read = { rows: [], faults: [] };
  for await (const row of rows)
    if ('fault' in row) result.faults.push(row.fault);
    else result.rows.push({ id: row.id, tool: row.tool, input: row.input });
  return result;
}

const codeOf = async (rows: Rows): Promise<unknown> =>
  read(rows).then(
    () => null,
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  );

test('the rows of a JSON body do not depend on its chunks', async (t) => {
  const random = seededRandom((line) => t.log(line));
  const inputs = [{ text: 'a "quoted" \\ {[,]}' }, { text: 'ümlaut 🎈', nested: { list: [1, [2], {}] } }, {}];
  const bodies = [
    JSON.stringify({ tool: 'hash-text', inputs, metadata: { a: '[}' }, maxCredits: 12 }),
    `\uFEFF ${JSON.stringify({ order: 'input', tool: 'hash-text', maxCredits: 12, inputs }, null, 2)}\n`,
    JSON.stringify({ inputs, maxCredits: 12, tool: 'hash-text' }),
  ];
  for (const body of bodies)
    for (let run = 0; run < 20; run++) {
      const sizes = Array.from({ length: 5 }, () => random.integer(1, 9));
      const envelope = new Map<string, unknown>();
      const { rows, faults } = await read(jsonRows(inChunks(body, ...sizes), envelope, LONGEST));
      t.deepEqual(faults, []);
      t.deepEqual(
        rows,
        inputs.map((input) => ({ id: null, tool: 'hash-text', input })),
        `${body} in chunks of ${sizes}`,
      );
      t.is(envelope.get('maxCredits'), 12);
    }
});

test('what is not a JSON object with rows is refused', async (t) => {
  const malformed = [
    ...['', '[]', '"inputs"', '{', '{"tool":"x"', '{"tool":"x" "inputs":[]}', '{"tool":"x","inputs":[{}]}}'],
    ...['{"inputs":[{} {}]}', '{"tool":tru}', '{tool:1}', '{"tool":"x",}', '{"inputs":[{}],"tool":,}'],
  ];
  for (const body of malformed)
    t.is(await codeOf(jsonRows(inChunks(body, 3), new Map(), LONGEST)), 'malformed_json', body);
  for (const body of [
    '{}',
    '{"tool":"x"}',
    '{"tool":"x","inputs":[]}',
    '{"tool":"x","inputs":{}}',
    '{"inputs":[{}]}',
  ])
    t.is(await codeOf(jsonRows(inChunks(body, 3), new Map(), LONGEST)), 'invalid_input', body);
  const long = JSON.stringify({ tool: 'x', inputs: [{ text: 'x'.repeat(LONGEST) }] });
  t.is(await codeOf(jsonRows(inChunks(long, 100), new Map(), LONGEST)), 'body_too_large');
});

test('bad rows of a JSON body are named, and the others are read', async (t) => {
  const body = '{"tool":"x","inputs":[1,{"a":1},"b",{"c":},[],null]}';
  const { rows, faults } = await read(jsonRows(inChunks(body, 4), new Map(), LONGEST));
  t.is(rows.length, 1);
  t.deepEqual(
    faults.map(({ pointer }) => pointer),
    ['/inputs/0', '/inputs/2', '/inputs/3', '/inputs/4', '/inputs/5'],
  );
});

test('a field named __proto__ is no option', async (t) => {
  const envelope = new Map<string, unknown>();
  await read(jsonRows(inChunks('{"__proto__":{"tool":"y"},"tool":"x","inputs":[{}]}', 9), envelope, LONGEST));
  t.deepEqual([...envelope.keys()], ['__proto__', 'tool']);
});

test('lines of either shape are read, also without a last line feed and with CRLF', async (t) => {
  const lines = [
    '{"custom_id":"a","method":"POST","url":"/api/v1/tools/hash-text","body":{"text":"ü"}}\r',
    '',
    '{"tool":"qr-generate","input":{"text":"b"},"id":"c"}',
    '  ',
    '{"tool":"hash-text","input":{}}',
  ];
  for (const sizes of [[1], [7, 2], [1000]])
    t.deepEqual(await read(ndjsonRows(inChunks(lines.join('\n'), ...sizes), LONGEST)), {
      rows: [
        { id: 'a', tool: 'hash-text', input: { text: 'ü' } },
        { id: 'c', tool: 'qr-generate', input: { text: 'b' } },
        { id: null, tool: 'hash-text', input: {} },
      ],
      faults: [],
    });
});

test('bad lines are named with their numbers', async (t) => {
  const lines = [
    '{"tool":"hash-text","input":{}}',
    'nonsense',
    '[]',
    '',
    '{"custom_id":"a","method":"GET","url":"/api/v1/tools/hash-text","body":{}}',
    '{"custom_id":"a","method":"POST","url":"https://other.example/","body":{}}',
    '{"tool":"hash-text"}',
    '{"tool":"hash-text","input":{},"more":1}',
    '{"id":7,"tool":"hash-text","input":{}}',
    JSON.stringify({ tool: 'hash-text', input: { text: 'x'.repeat(LONGEST) } }),
    '{"tool":"hash-text","input":{}}',
  ];
  const { rows, faults } = await read(ndjsonRows(inChunks(lines.join('\n'), 50), LONGEST));
  t.is(rows.length, 2);
  t.deepEqual(
    faults.map(({ pointer, message }) => `${pointer} ${message.slice(0, message.indexOf(':'))}`),
    ['/1 line 2', '/2 line 3', '/3 line 5', '/4 line 6', '/5 line 7', '/6 line 8', '/7 line 9', '/8 line 10'],
  );
});

test('cells of CSV are read by the types of their fields', async (t) => {
  const csv =
    '\uFEFFurl,id,headers,body\r\n' +
    'https://example.com/,a,"{""X-A"": ""1""}","two\nlines, ""quoted"""\r\n' +
    'https://example.org/,,X-A: 1,007\r\n';
  const expected = [
    {
      id: 'a',
      tool: 'http-request',
      input: { url: 'https://example.com/', headers: { 'X-A': '1' }, body: 'two\nlines, "quoted"' },
    },
    {
      id: null,
      tool: 'http-request',
      input: { url: 'https://example.org/', headers: 'X-A: 1', body: '007' },
    },
  ];
  for (const sizes of [[1], [13, 4], [1000]])
    t.deepEqual(await read(csvRows(inChunks(csv, ...sizes), request, LONGEST)), {
      rows: expected,
      faults: [],
    });
  const picture = 'url,width,fullPage\nhttps://example.com/,800,true\nhttps://example.com/,0800,yes\n';
  const { rows } = await read(csvRows(inChunks(picture), screenshot, LONGEST));
  t.deepEqual(
    rows.map(({ input }) => input),
    [
      { url: 'https://example.com/', width: 800, fullPage: true },
      // Left for the validator to report.
      { url: 'https://example.com/', width: '0800', fullPage: 'yes' },
    ],
  );
});

test('lines of CSV may end in several ways', async (t) => {
  const texts = ['one', 'two\r\nlines', 'three', 'four'];
  for (const ends of [['\n', '\r\n'], ['\r\n', '\n'], ['\r'], ['\r\n', '\n', '\r']])
    for (const sizes of [[1], [3, 2], [1000]]) {
      const lines = [
        'text,algorithm',
        ...texts.map((text) => `"${text}",md5`),
        ...texts.map((_, i) => `${i},`),
      ];
      const csv = lines.map((line, i) => line + ends[i % ends.length]).join('');
      const { rows, faults } = await read(csvRows(inChunks(csv, ...sizes), hash, LONGEST));
      t.deepEqual(faults, []);
      t.deepEqual(
        rows.map(({ input }) => input),
        [...texts.map((text) => ({ text, algorithm: 'md5' })), ...texts.map((_, i) => ({ text: `${i}` }))],
        JSON.stringify(csv),
      );
    }
});

test('faults of CSV are named with their lines', async (t) => {
  const { rows, faults } = await read(
    csvRows(inChunks('text,id\n"a\nb",1\nc\n\nd,2,3\ne,4\n', 3), hash, LONGEST),
  );
  t.deepEqual(
    rows.map(({ id }) => id),
    ['1', '4'],
  );
  t.deepEqual(faults, [
    { pointer: '/1', message: 'line 4: must have 2 cells' },
    { pointer: '/2', message: 'line 6: must have 2 cells' },
  ]);
  for (const csv of [
    'txt\na\n',
    'text,text\na,b\n',
    'text\n"a',
    'text\na"b\n',
    `text\n${'x'.repeat(LONGEST + 2)}`,
  ])
    t.is(await codeOf(csvRows(inChunks(csv, 5), hash, LONGEST)), 'invalid_input', csv.slice(0, 20));
  t.is(
    await codeOf(csvRows(inChunks(Buffer.from([0x74, 0x0a, 0xff, 0x0a])), hash, LONGEST)),
    'malformed_json',
  );
});

test('bodies that take long to read are refused early', async (t) => {
  const many = Array.from({ length: 50_000 }, (_, i) => `c${i}`).join(',');
  t.is(await codeOf(csvRows(inChunks(`${many}\n`), hash, many.length)), 'invalid_input');
  t.is(await codeOf(ndjsonRows(inChunks('\n'.repeat(2 * MAX_ROWS + 1)), LONGEST)), 'invalid_input');
  const members = Array.from({ length: 5000 }, (_, i) => `"member${i}":1`).join(',');
  t.is(await codeOf(jsonRows(inChunks(`{${members}}`), new Map(), LONGEST)), 'body_too_large');
  const deep = `{"metadata":${'['.repeat(400)}${']'.repeat(400)},"tool":"x","inputs":[{}]}`;
  t.is(await codeOf(jsonRows(inChunks(deep), new Map(), LONGEST)), 'invalid_input');
});

test('an error of the connection ends the reading', async (t) => {
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('text\na\n');
    throw new Error('reset');
  }
  for (const rows of [csvRows(broken(), hash, LONGEST), ndjsonRows(broken(), LONGEST)])
    await t.throwsAsync(read(rows), { message: 'reset' });
});

test("a template has the tool's columns, and its example as a valid row", async (t) => {
  const compile = createValidator();
  for (const tool of registry.values()) {
    if (secretFields(tool).length > 0) continue;
    const template = templateOf(tool);
    const [header = ''] = template.split('\r\n');
    for (const field of Object.keys(tool.input.properties)) t.true(header.split(',').includes(field), field);
    const { rows, faults } = await read(csvRows(inChunks(template), tool, 100_000));
    t.deepEqual(faults, []);
    const example = Object.entries(tool.examples[0]?.input ?? {});
    const given = Object.fromEntries(example.filter(([, value]) => value !== null && value !== ''));
    t.deepEqual(rows, [{ id: 'example', tool: tool.name, input: given }]);
    t.notThrows(() => compile(tool.input, tool.check)({ ...given }), tool.name);
  }
});
