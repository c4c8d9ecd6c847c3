import { createHash } from 'node:crypto';
import test from 'ava';
import { seededRandom } from '../helpers/random.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';
import published from '../vectors/digests.json' with { type: 'json' };

const tool = await loadTool('hash-text');

for (const { algorithm, text, times, hash, source } of published.vectors)
  test(`${algorithm} of ${times} x ${JSON.stringify(text)} matches ${source}`, async (t) => {
    t.deepEqual(await tool.call({ text: text.repeat(times), algorithm }), { algorithm, hash });
  });

test('defaults to SHA-256', async (t) => {
  const { hash } = await tool.call({ text: '' });
  t.is(hash, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
});

for (const algorithm of ['md5', 'sha1', 'sha256', 'sha512'])
  test(`agrees with OpenSSL on the UTF-8 bytes of random text, ${algorithm}`, async (t) => {
    const random = seededRandom(t.log);
    for (let i = 0; i < 100; i++) {
      const text = random.text(random.integer(0, 300));
      const expected = createHash(algorithm).update(text, 'utf8').digest('hex');
      t.is((await tool.call({ text, algorithm })).hash, expected);
    }
  });

test('hashes the bytes as they are sent: without normalisation, and including NUL and a byte order mark', async (t) => {
  for (const text of ['é', 'e\u0301', 'a\0b', '\ufeffa', ' a\r\n'])
    t.is((await tool.call({ text })).hash, createHash('sha256').update(text).digest('hex'));
});

test('accepts 1,000,000 characters and refuses more', async (t) => {
  t.notThrows(() => tool.validate({ text: 'é'.repeat(1_000_000) }));
  const faults = await faultsOf(tool, { text: 'a'.repeat(1_000_001) });
  t.deepEqual(
    faults.map(({ pointer }) => pointer),
    ['/text'],
  );
});

for (const text of ['\ud800', 'a\udc00b', '\udc00\ud800'])
  test(`refuses the lone surrogate in ${JSON.stringify(text)}`, async (t) => {
    t.deepEqual(await faultsOf(tool, { text }), [
      { pointer: '/text', message: 'contains a lone surrogate, which UTF-8 cannot encode' },
    ]);
  });

for (const body of [
  {},
  { text: 1 },
  { text: null },
  { text: '', algorithm: 'SHA256' },
  { text: '', algorithm: 'md4' },
])
  test(`refuses ${JSON.stringify(body)}`, async (t) => {
    t.is((await faultsOf(tool, body)).length, 1);
  });
