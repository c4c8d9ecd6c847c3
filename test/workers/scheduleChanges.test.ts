import test from 'ava';
import { comparedLines } from '../../activities/schedules/comparedLines.ts';
import { differenceOf, snapshotOf } from '../../activities/schedules/difference.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { MAX_CHANGES } from '../../schemas/schedules.ts';

const registry = await loadRegistry();
const linesOf = (name: string, output: Record<string, unknown>): string[] => {
  const tool = registry.get(name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return comparedLines(tool, output);
};

/** Changes each number that measures how long something took. */
const slower = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(slower);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      typeof part === 'number' && /^(?:elapsedMs|ms|ttl|daysRemaining)$/.test(name) ? part + 1 : slower(part),
    ]),
  );
};

test('the result of every tool is compared, and durations are no change', (t) => {
  for (const { name, examples } of registry.values())
    for (const { output } of examples) {
      const later = slower(output);
      if (!isRecord(later)) throw new Error('no output');
      t.deepEqual(linesOf(name, later), linesOf(name, output), name);
      // A page without broken links has none to compare.
      if (name !== 'broken-links') t.true(linesOf(name, output).length > 0, name);
    }
});

test('results are compared by what they are about', (t) => {
  const link = { url: 'https://a.example/', reason: 'status', statusCode: 404, broken: true, ms: 5 };
  const works = { url: 'https://b.example/', reason: null, statusCode: 200, broken: false, ms: 7 };
  t.deepEqual(linesOf('broken-links', { links: [works, link] }), ['https://a.example/: 404']);

  const records = [
    { value: '192.0.2.1', ttl: 60 },
    { value: '192.0.2.2', ttl: 60 },
  ];
  const dns = (list: object[]) => linesOf('dns-lookup', { found: true, records: list, dnssec: null });
  t.deepEqual(dns(records), dns(records.map((record) => ({ ...record, ttl: 9 })).reverse()));
  t.notDeepEqual(dns(records), dns(records.slice(1)));

  const page = { statusCode: 200, headers: {}, body: 'a\n\nb\n', bodyEncoding: 'text', elapsedMs: 1 };
  t.deepEqual(linesOf('http-request', page), ['statusCode: 200', 'a', 'b']);
  const binary = { ...page, headers: { 'content-type': 'image/png' }, body: 'AAAA', bodyEncoding: 'base64' };
  t.regex(linesOf('http-request', binary)[1] ?? '', /^body: SHA-256 [0-9a-f]{64}$/);
  const shot = { statusCode: 200, pageTitle: 'x', fileBase64: 'AAAA', finalUrl: 'https://a.example/' };
  const other = { ...shot, fileBase64: 'AAAB', finalUrl: 'https://a.example/?1' };
  t.deepEqual(
    linesOf('website-screenshot', shot).map((line, i) => line === linesOf('website-screenshot', other)[i]),
    [true, true, false],
  );
});

test('of a text with many lines, those after the first ones are compared as a whole', (t) => {
  const linesWith = (end: string) =>
    linesOf('http-request', {
      statusCode: 200,
      headers: {},
      body: `${'\na\r\n'.repeat(1_000_000)}${end}`,
      bodyEncoding: 'text',
    });
  const lines = linesWith('b');
  t.true(lines.length <= 5002, `${lines.length} lines`);
  t.deepEqual(lines.slice(0, 3), ['statusCode: 200', 'a', 'a']);
  t.deepEqual(linesWith('b'), lines);
  t.not(linesWith('c').at(-1), lines.at(-1));
});

test('a difference has the lines that are new and those that are gone, as often as they are', async (t) => {
  const [before, after] = [
    await snapshotOf([['a', 'b'], [], ['b', 'c']]),
    await snapshotOf([['c', 'a', 'b', 'd']]),
  ];
  t.deepEqual(differenceOf(before, after), {
    added: 1,
    removed: 1,
    lines: [
      { change: 'removed', text: 'b' },
      { change: 'added', text: 'd' },
    ],
    picture: null,
  });
  // Another order is a change without such lines.
  const moved = await snapshotOf([['b', 'a', 'c', 'b']]);
  t.not(moved.sha256, before.sha256);
  t.deepEqual(differenceOf(before, moved), { added: 0, removed: 0, lines: [], picture: null });

  const many = await snapshotOf([Array.from({ length: 100_000 }, (_, i) => `${i} ${'x'.repeat(2000)}`)]);
  t.true(JSON.stringify(many).length < 300_000);
  const { added, lines } = differenceOf(before, many);
  t.true(added > 100 && added < 5000);
  t.is(lines.length, MAX_CHANGES.lines);
  t.true(lines.every(({ text }) => text.length <= MAX_CHANGES.characters));
});
