import test, { type ExecutionContext } from 'ava';
import { ServiceError } from '../../schemas/errors.ts';
import { darkBounds, readPng, readWithJsQr, readWithZxing } from '../helpers/qr.ts';
import { seededRandom } from '../helpers/random.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';
import capacity from '../vectors/qr-capacity.json' with { type: 'json' };

const tool = await loadTool('qr-generate');
const LEVELS = ['L', 'M', 'Q', 'H'] as const;

const modulesOf = (version: number): number => 17 + 4 * version;
const leastOf = (version: number): number => modulesOf(version) + 8;
const bytesOf = (level: (typeof LEVELS)[number], version: number): number =>
  capacity.bytes[level][version - 1] ?? 0;

/** Returns text of this many bytes that requires byte mode and does not repeat a character directly. */
const bytesText = (length: number): string =>
  Array.from({ length }, (_, i) =>
    'abcdefghijklmnopqrstuvwxyz_'.charAt((i * i + 7 * i + (i >> 3)) % 27),
  ).join('');

/** Draws a QR code and checks its text, its size and, if given, its version. */
async function drawAndVerify(
  t: ExecutionContext,
  body: { text: string; size?: number; errorCorrection?: string },
  version?: number,
): Promise<void> {
  const { size = 300 } = body;
  const output = await tool.call(body);
  t.is(output.mimeType, 'image/png');
  t.is(output.size, size);
  const image = readPng(String(output.imageBase64));
  t.deepEqual([image.width, image.height], [size, size]);
  t.true(image.pixels.every((value) => value === 0 || value === 255));
  t.is(readWithZxing(image), body.text);
  // jsQR 1.4.0 expects an alignment pattern of version 23 at 74 instead of 78, which level L cannot correct.
  if (version !== 23 || body.errorCorrection !== 'L') t.is(readWithJsQr(image), body.text);
  if (version === undefined) return;

  const { left, right, top, bottom } = darkBounds(image);
  const scale = Math.floor(size / leastOf(version));
  t.deepEqual([right - left + 1, bottom - top + 1], [modulesOf(version) * scale, modulesOf(version) * scale]);
  t.true(left >= 4 * scale && size - 1 - right >= 4 * scale, 'quiet zone');
  t.true(Math.abs(left - (size - 1 - right)) <= 1 && left === top, 'centred');
}

for (const errorCorrection of LEVELS) {
  test(`at ${errorCorrection}, text that fills a version to the last byte is readable, at the minimum and at other sizes`, async (t) => {
    for (let version = 1; version <= 40; version++) {
      const text = bytesText(bytesOf(errorCorrection, version));
      const least = leastOf(version);
      await drawAndVerify(t, { text, size: Math.max(64, least), errorCorrection }, version);
      // Sizes of two and three pixels per module plus a remainder, which widens the margin.
      if (version % 4 === LEVELS.indexOf(errorCorrection))
        await drawAndVerify(t, { text, size: 2 * least + 65 + version, errorCorrection }, version);
      if (least <= 64) continue;
      t.deepEqual(await faultsOf(tool, { text, size: least - 1, errorCorrection }), [
        { pointer: '/size', message: `is too small for this text: the code needs at least ${least} pixels` },
      ]);
    }
  });

  test(`at ${errorCorrection}, one byte more than a version holds selects the next version`, async (t) => {
    // Below version 10, the minimum size of the code is smaller than the smallest size that callers may request.
    for (let version = 10; version < 40; version++) {
      const text = bytesText(bytesOf(errorCorrection, version) + 1);
      const [fault] = await faultsOf(tool, { text, size: leastOf(version), errorCorrection });
      t.regex(fault?.message ?? '', new RegExp(`at least ${leastOf(version + 1)} pixels$`));
    }
  });

  for (const size of [64, 65, 299, 300, 1000, 2000])
    test(`a code of ${size} pixels at ${errorCorrection} is readable`, async (t) => {
      const text = 'https://example.com/a?b=c#d';
      const version = capacity.bytes[errorCorrection].findIndex((bytes) => bytes >= text.length) + 1;
      await drawAndVerify(t, { text, size, errorCorrection }, version);
    });

  for (const [kind, text] of [
    ['bytes', 'a'.repeat(capacity.bytes[errorCorrection].at(-1) ?? 0)],
    ['bytes', 'é'.repeat((capacity.bytes[errorCorrection].at(-1) ?? 0) / 2)],
    ['digits', '7'.repeat(capacity.digits[errorCorrection])],
    ['capitals', 'A'.repeat(capacity.alphanumeric[errorCorrection])],
  ] as const)
    test(`at ${errorCorrection}, ${text.length} ${kind} like ${text[0]} are accepted, and more are refused with the limit`, async (t) => {
      await drawAndVerify(t, { text, size: 400, errorCorrection });
      const limit = capacity.bytes[errorCorrection].at(-1);
      t.deepEqual(await faultsOf(tool, { text: text + text[0], size: 400, errorCorrection }), [
        {
          pointer: '/text',
          message: `is too long for error correction ${errorCorrection}: at most ${limit} bytes of UTF-8, or ${capacity.digits[errorCorrection]} digits`,
        },
      ]);
    });

  test(`any mixture of modes up to the byte limit is accepted, ${errorCorrection}`, async (t) => {
    const random = seededRandom(t.log);
    const limit = capacity.bytes[errorCorrection].at(-1) ?? 0;
    const kinds = ['0123456789', 'ABCXYZ $%*+-./:', 'abcxyz_?&=#', 'éßñ', '漢字かな', '😀🔑'];
    for (let i = 0; i < 4; i++) {
      const [run, mixed] = [random.integer(1, 20), random.integer(1, kinds.length)];
      let text = '';
      while (Buffer.byteLength(text) < limit - 80) {
        const kind = [...random.pick(kinds.slice(0, mixed))];
        text += Array.from({ length: random.integer(1, run) }, () => random.pick(kind)).join('');
      }
      text += 'a'.repeat(limit - Buffer.byteLength(text));
      const output = await tool.call({ text, size: 400, errorCorrection });
      t.is(readWithZxing(readPng(String(output.imageBase64))), text);
    }
  });
}

for (const text of [
  ' ',
  '0',
  '0123456789012345',
  'HTTPS://EXAMPLE.COM/A-B $%*+.:',
  'https://example.com/?q=a%20b&c=1234567890123#x',
  'é',
  'Ã©',
  'café naïve Straße',
  '漢字とかなとカナ',
  'ｱｲｳｴｵ',
  '点茗 12345 ABCDE 点茗',
  '한국어 Привет مرحبا ไทย',
  '😀👩‍👩‍👧‍👦🏳️‍🌈',
  '°C',
  'line one\r\nline two\ttab',
  'a\0b',
  'WIFI:T:WPA;S:Café;P:pass\\;word;;',
])
  test(`decodes to ${JSON.stringify(text)}`, async (t) => {
    for (const errorCorrection of LEVELS) await drawAndVerify(t, { text, errorCorrection });
  });

test('defaults to 300 pixels and level M', async (t) => {
  const text = bytesText(bytesOf('M', 10));
  await drawAndVerify(t, { text }, 10);
});

test('is black on white and starts with a dark corner', async (t) => {
  const { imageBase64 } = await tool.call({ text: 'x', size: 290 });
  const { pixels, width } = readPng(String(imageBase64));
  t.is(pixels[0], 255);
  // 29 modules of 10 pixels: the finder pattern starts after a margin of four modules.
  t.is(pixels[40 * width + 40], 0);
  t.is(pixels[39 * width + 40], 255);
});

for (const [body, pointer] of [
  [{ text: '' }, '/text'],
  [{}, '/text'],
  [{ text: 'a\ud83d' }, '/text'],
  [{ text: 'a', size: 63 }, '/size'],
  [{ text: 'a', size: 2001 }, '/size'],
  [{ text: 'a', size: 300.5 }, '/size'],
  [{ text: 'a', size: '300' }, '/size'],
  [{ text: 'a', errorCorrection: 'm' }, '/errorCorrection'],
  [{ text: 'a', margin: 4 }, '/margin'],
] as const)
  test(`refuses ${JSON.stringify(body)}`, async (t) => {
    t.deepEqual(
      (await faultsOf(tool, body)).map((fault) => fault.pointer),
      [pointer],
    );
  });

test('a megabyte of text is refused by validation, before the tool runs', (t) => {
  const start = process.cpuUsage();
  const error = t.throws(() => tool.validate({ text: '1a'.repeat(450_000), errorCorrection: 'Q' }), {
    instanceOf: ServiceError,
  });
  const { user, system } = process.cpuUsage(start);
  t.true(user + system < 500_000, `${user + system} µs`);
  t.regex(error.members.errors?.[0]?.message ?? '', /at most 1663 bytes/);
});
