import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { PNG } from 'pngjs';
import sharp from 'sharp';
import { codeOf } from '../helpers/egress.ts';
import { costsOf, makeImage, makeTooLarge, startFiles } from '../helpers/images.ts';
import { seededRandom } from '../helpers/random.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const tool = await loadTool('watermark-image');
const files = await startFiles();
test.after.always(() => files.close());
const run = promisify(execFile);

const mark = (bytes: Buffer, body: Record<string, unknown> = {}) =>
  makeImage(tool, files, bytes, { text: 'Sample', ...body });
const refusal = (bytes: Buffer, body: Record<string, unknown> = {}) => codeOf(() => mark(bytes, body));

type Rgb = readonly [number, number, number];
const flat = (width: number, height: number, [r, g, b]: Rgb) =>
  sharp({ create: { width, height, channels: 3, background: { r, g, b } } });

/**
 * Compares an image with a flat background. Returns the bounds of the pixels that differ, and how often each of their
 * values occurs.
 */
function changes(pixels: Uint8Array | Uint16Array, width: number, ground: readonly number[]) {
  const bounds = { left: width, right: -1, top: Infinity, bottom: -1 };
  const values = new Map<string, number>();
  const channels = ground.length;
  for (let at = 0; at < pixels.length; at += channels) {
    const pixel = pixels.subarray(at, at + channels);
    if (pixel.every((value, channel) => value === ground[channel])) continue;
    const [x, y] = [(at / channels) % width, Math.floor(at / channels / width)];
    bounds.left = Math.min(bounds.left, x);
    bounds.right = Math.max(bounds.right, x);
    bounds.top = Math.min(bounds.top, y);
    bounds.bottom = Math.max(bounds.bottom, y);
    const key = pixel.join();
    values.set(key, (values.get(key) ?? 0) + 1);
  }
  return { ...bounds, values };
}

const over = (ground: number, ink: number, opacity: number) => Math.round(ground + (ink - ground) * opacity);

for (const opacity of [0.05, 0.35, 0.5, 0.777, 1])
  test(`a pixel of the watermark has exactly the blended value for opacity ${opacity}`, async (t) => {
    const ground: Rgb = [30, 111, 200];
    const [width, height] = [800, 600];
    const source = await flat(width, height, ground).png().toBuffer();
    const { data } = PNG.sync.read(await mark(source, { opacity, position: 'center' }));
    const { values } = changes(data, width, [...ground, 255]);
    const light = [...ground.map((value) => over(value, 255, opacity)), 255];
    const dark = ground.map((value) => over(value, 0, opacity));
    t.true((values.get(light.join()) ?? 0) > 100, 'enough pixels inside the letters');
    for (const key of values.keys()) {
      const pixel = key.split(',').map(Number);
      t.is(pixel[3], 255);
      for (const channel of [0, 1, 2]) {
        const value = pixel[channel] ?? -1;
        t.true(value >= (dark[channel] ?? 256) && value <= (light[channel] ?? -1), key);
      }
    }
  });

test('16-bit images stay 16-bit, with exactly blended values', async (t) => {
  const [width, height, ground] = [800, 600, [1000, 30_001, 64_999]];
  const pixels = Uint16Array.from({ length: width * height * 3 }, (_, i) => ground[i % 3] ?? 0);
  const source = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .toColourspace('rgb16')
    .png()
    .toBuffer();
  const made = await mark(source, { opacity: 0.35 });
  t.is(made[24], 16);
  const data = await sharp(made).toColourspace('rgb16').raw({ depth: 'ushort' }).toBuffer();
  const read = new Uint16Array(data.buffer, data.byteOffset, data.length / 2);
  const { values } = changes(read, width, ground);
  const light = ground.map((value) => over(value, 65_535, 0.35));
  t.true((values.get(light.join()) ?? 0) > 50);
});

test('greyscale is preserved', async (t) => {
  const source = await flat(300, 200, [90, 90, 90]).toColourspace('b-w').png().toBuffer();
  const made = await mark(source, { opacity: 0.5 });
  t.is(made[25], 0);
  const { values } = changes(PNG.sync.read(made).data, 300, [90, 90, 90, 255]);
  t.true((values.get('173,173,173,255') ?? 0) > 50);
  const jpeg = await mark(await flat(300, 200, [90, 90, 90]).toColourspace('b-w').jpeg().toBuffer());
  t.is((await sharp(jpeg).metadata()).channels, 1);
});

test('on a transparent background only the text is visible', async (t) => {
  const clear = { r: 10, g: 20, b: 30, alpha: 0 };
  const source = await sharp({ create: { width: 300, height: 200, channels: 4, background: clear } })
    .png()
    .toBuffer();
  const { values } = changes(PNG.sync.read(await mark(source, { opacity: 0.4 })).data, 300, [10, 20, 30, 0]);
  t.true((values.get('255,255,255,102') ?? 0) > 50);
});

const AREAS = {
  'top-left': [0, 0.5, 0, 0.5],
  'top-right': [0.5, 1, 0, 0.5],
  'bottom-left': [0, 0.5, 0.5, 1],
  'bottom-right': [0.5, 1, 0.5, 1],
  center: [0.3, 0.7, 0.4, 0.6],
} as const;

for (const [position, [left, right, top, bottom]] of Object.entries(AREAS))
  test(`position ${position} is honoured, and no other area is changed`, async (t) => {
    const [width, height] = [640, 480];
    const source = await flat(width, height, [50, 60, 70]).png().toBuffer();
    const found = changes(PNG.sync.read(await mark(source, { position })).data, width, [50, 60, 70, 255]);
    t.true(found.left >= left * width && found.right < right * width);
    t.true(found.top >= top * height && found.bottom < bottom * height);
    const middle = (found.left + found.right + 1) / 2;
    if (position === 'center') t.true(Math.abs(middle - width / 2) <= 2);
    // The font size is a twentieth of the shorter side, so a capital letter is about 17 pixels high.
    t.true(found.bottom - found.top + 1 >= 17 && found.bottom - found.top + 1 <= 32);
  });

test('defaults to bottom-right and opacity 0.35', async (t) => {
  const source = await flat(200, 100, [0, 0, 0]).png().toBuffer();
  t.deepEqual(await mark(source), await mark(source, { position: 'bottom-right', opacity: 0.35 }));
});

test('tiles cover the whole image', async (t) => {
  const [width, height] = [800, 600];
  const source = await flat(width, height, [50, 60, 70]).png().toBuffer();
  const made = await mark(source, { position: 'tile' });
  for (let left = 0; left < width; left += 200)
    for (let top = 0; top < height; top += 150) {
      const part = await sharp(made).extract({ left, top, width: 200, height: 150 }).raw().toBuffer();
      const { values } = changes(part, 200, [50, 60, 70]);
      t.true(values.size > 20, `${left}, ${top}`);
    }
});

const SCRIPTS = [
  ['eng', '© 2026 Jane Doe <b>Photo</b> & Sons'],
  ['ell', 'Ελληνικά γράμματα'],
  ['rus', 'Привет мир'],
  ['ara', 'مرحبا بالعالم'],
  ['heb', 'שלום עולם'],
  ['hin', 'नमस्ते दुनिया'],
  ['tha', 'สวัสดีชาวโลก'],
  ['chi_sim', '版权所有'],
  ['jpn', 'こんにちは'],
  ['kor', '안녕하세요'],
] as const;

for (const [language, text] of SCRIPTS)
  test(`tesseract reads the watermark in ${language}`, async (t) => {
    const source = await flat(1600, 1100, [20, 40, 60]).png().toBuffer();
    const made = await mark(source, { text, opacity: 1, position: 'center' });
    const folder = await mkdtemp(join(tmpdir(), 'ocr-'));
    try {
      const path = join(folder, 'picture.png');
      await writeFile(
        path,
        await sharp(made).extract({ left: 0, top: 450, width: 1600, height: 200 }).negate().toBuffer(),
      );
      const { stdout } = await run('tesseract', [path, '-', '-l', language, '--psm', '7']);
      const plain = (words: string) => words.normalize('NFKC').replace(/[\s\p{Cf}]/gu, '');
      t.is(plain(stdout), plain(text));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

test('emoji are drawn in colour, and an emoji of several code points as one glyph', async (t) => {
  const ground = [128, 128, 128] as const;
  const source = await flat(400, 400, ground).png().toBuffer();
  const drawn = async (text: string) => {
    const { data } = PNG.sync.read(await mark(source, { text, opacity: 1, position: 'center' }));
    return changes(data, 400, [...ground, 255]);
  };
  const flag = await drawn('🇩🇪');
  const colours = [...flag.values.keys()].map((key) => key.split(',').map(Number));
  t.true(colours.some(([red = 0, green = 0, blue = 0]) => red > 180 && green < 60 && blue < 60));
  t.true(colours.some(([red = 0, green = 0, blue = 0]) => red > 220 && green > 170 && blue < 60));
  const width = ({ left, right }: typeof flag) => right - left + 1;
  const family = await drawn('👩‍👩‍👧‍👦');
  t.true(width(family) < 1.5 * width(await drawn('👩')));
});

test('a text that is too long for a line is wrapped at spaces and shown in full', async (t) => {
  const words =
    'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa';
  const source = await flat(900, 900, [20, 40, 60]).png().toBuffer();
  const made = await mark(source, { text: words, opacity: 1, position: 'center' });
  const { left, right } = changes(PNG.sync.read(made).data, 900, [20, 40, 60, 255]);
  t.true(left > 0 && right < 899);
  const folder = await mkdtemp(join(tmpdir(), 'ocr-'));
  try {
    const path = join(folder, 'picture.png');
    await writeFile(path, await sharp(made).negate().toBuffer());
    const { stdout } = await run('tesseract', [path, '-', '-l', 'eng', '--psm', '6']);
    t.is(stdout.trim().split(/\s+/).join(' '), words);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

for (const text of ['W'.repeat(200), '﷽'.repeat(200), 'a\n'.repeat(100), `a${'̧́'.repeat(1900)}`])
  for (const [width, height] of [
    [1, 1],
    [3, 700],
    [700, 3],
    [60, 40],
    [900, 600],
  ] as const)
    test(`${text.length} characters like ${JSON.stringify(text.slice(0, 2))} fit on ${width} x ${height}`, async (t) => {
      const source = await flat(width, height, [0, 80, 0]).png().toBuffer();
      const made = await mark(source, { text, opacity: 1, position: 'top-left' });
      const { data, ...size } = PNG.sync.read(made);
      t.like(size, { width, height });
      t.true(changes(data, width, [0, 80, 0, 255]).values.size > 0);
    });

test('an image wider than the longest possible line gets a watermark', async (t) => {
  const [width, height] = [1_200_000, 12];
  const made = await mark(await flat(width, height, [0, 80, 0]).png().toBuffer(), { position: 'center' });
  const { data, info } = await sharp(made).raw().toBuffer({ resolveWithObject: true });
  t.like(info, { width, height });
  const { left, right } = changes(data, width, [0, 80, 0]);
  t.true(left > width / 2 - 100 && right < width / 2 + 100 && right > left);
});

/** Expected colours of the corners of the upright image: top left, top right, bottom left, bottom right. */
const CORNERS: readonly Rgb[] = [
  [200, 0, 0],
  [0, 160, 0],
  [0, 0, 200],
  [180, 180, 0],
];
/**
 * Corners of the image as it is stored, in the same order, by EXIF orientation (EXIF 2.32, 4.6.4). Orientation 6 means
 * that row 0 is the right side and column 0 the top.
 */
const STORED = {
  1: [0, 1, 2, 3],
  2: [1, 0, 3, 2],
  3: [3, 2, 1, 0],
  4: [2, 3, 0, 1],
  5: [0, 2, 1, 3],
  6: [1, 3, 0, 2],
  7: [3, 1, 2, 0],
  8: [2, 0, 3, 1],
} as const;

for (const [orientation, order] of Object.entries(STORED))
  for (const format of ['jpeg', 'png', 'webp'] as const)
    test(`EXIF orientation ${orientation} of a ${format} is applied`, async (t) => {
      const [width, height] = Number(orientation) < 5 ? [120, 80] : [80, 120];
      const quarter = async (corner: number, left: number, top: number) => ({
        input: await flat(width / 2, height / 2, CORNERS[corner] ?? [0, 0, 0])
          .png()
          .toBuffer(),
        left,
        top,
      });
      const source = await flat(width, height, [0, 0, 0])
        .composite([
          await quarter(order[0], 0, 0),
          await quarter(order[1], width / 2, 0),
          await quarter(order[2], 0, height / 2),
          await quarter(order[3], width / 2, height / 2),
        ])
        .withMetadata({ orientation: Number(orientation) })
        .toFormat(format, { quality: 95 })
        .toBuffer();
      const made = await mark(source, { position: 'center' });
      const { data, info } = await sharp(made).raw().toBuffer({ resolveWithObject: true });
      t.like(info, { width: 120, height: 80, channels: 3 });
      t.is((await sharp(made).metadata()).orientation, undefined);
      for (const [corner, [x, y]] of [
        [4, 4],
        [115, 4],
        [4, 75],
        [115, 75],
      ].entries()) {
        const at = 3 * ((y ?? 0) * 120 + (x ?? 0));
        for (const channel of [0, 1, 2])
          t.true(Math.abs((data[at + channel] ?? 0) - (CORNERS[corner]?.[channel] ?? 0)) <= 12, `${corner}`);
      }
    });

test('CMYK is converted to RGB without a visible change', async (t) => {
  const source = await flat(200, 200, [120, 90, 60]).toColourspace('cmyk').jpeg({ quality: 95 }).toBuffer();
  const metadata = await sharp(source).metadata();
  t.is(metadata.space, 'cmyk');
  const made = await mark(source);
  t.like(await sharp(made).metadata(), { space: 'srgb', channels: 3, hasProfile: false });
  const [before, after] = [await sharp(source).raw().toBuffer(), await sharp(made).raw().toBuffer()];
  for (const channel of [0, 1, 2]) t.true(Math.abs((after[channel] ?? 0) - (before[channel] ?? 0)) <= 4);
  t.true((before[0] ?? 0) > (before[1] ?? 0) && (before[1] ?? 0) > (before[2] ?? 0));
});

for (const format of ['png', 'jpeg', 'webp'] as const)
  for (const alpha of format === 'jpeg' ? [false] : [false, true])
    test(`${format}${alpha ? ' with alpha' : ''}: the colour profile is kept and other metadata is removed`, async (t) => {
      const exif = {
        IFD0: { Copyright: 'Jane Doe' },
        IFD3: { GPSLatitude: '51/1 30/1 0/1', GPSLatitudeRef: 'N' },
      };
      const image = flat(100, 80, [10, 200, 90]);
      const source = await (alpha ? image.ensureAlpha(0.5) : image)
        .withIccProfile('p3')
        .withExif(exif)
        .toFormat(format, { lossless: true })
        .toBuffer();
      const made = await mark(source, { position: 'top-left', text: 'x' });
      const [before, after] = [await sharp(source).metadata(), await sharp(made).metadata()];
      t.truthy(before.exif);
      t.deepEqual(after.icc, before.icc);
      t.is(after.hasAlpha, alpha);
      const folder = await mkdtemp(join(tmpdir(), 'exif-'));
      try {
        await writeFile(join(folder, 'picture'), made);
        const { stdout } = await run('exiftool', ['-a', '-G1', '-s', join(folder, 'picture')]);
        t.regex(stdout, /ProfileDescription\s+: .*P3/);
        t.notRegex(stdout, /GPS|Jane|Warning|Error/);
        // A WebP states its density, here that of sharp, by EXIF only.
        const entries = [...stdout.matchAll(/^\[(?:IFD0|ExifIFD)\]\s+(\w+)/gm)].map(([, name]) => name);
        t.deepEqual(entries, format === 'webp' ? ['XResolution', 'YResolution', 'ResolutionUnit'] : []);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
      if (format === 'jpeg') return;
      // Reads the raw pixels without colour conversion.
      const raw = (bytes: Buffer) => sharp(bytes, { ignoreIcc: true }).raw().toBuffer();
      t.deepEqual((await raw(made)).subarray(-400), (await raw(source)).subarray(-400));
    });

test('the watermark is drawn on every frame of an animated WebP', async (t) => {
  const [width, height, frames] = [120, 80, 3];
  const colours: readonly Rgb[] = [
    [200, 0, 0],
    [0, 200, 0],
    [0, 0, 200],
  ];
  const pixels = Buffer.concat(
    await Promise.all(colours.map((colour) => flat(width, height, colour).raw().toBuffer())),
  );
  const source = await sharp(pixels, {
    raw: { width, height: height * frames, channels: 3, pageHeight: height },
  })
    .webp({ lossless: true, delay: [100, 200, 300], loop: 2 })
    .toBuffer();
  const made = await mark(source, { opacity: 1 });
  t.like(await sharp(made, { animated: true }).metadata(), {
    pages: 3,
    pageHeight: height,
    delay: [100, 200, 300],
    loop: 2,
  });
  for (const [page, colour] of colours.entries()) {
    const frame = await sharp(made, { page }).removeAlpha().raw().toBuffer();
    const { values, left, top } = changes(frame, width, colour);
    t.true((values.get('255,255,255') ?? 0) > 20 && left > width / 3 && top > height / 2, `${page}`);
  }
});

const suite = new URL('../vectors/pngsuite/', import.meta.url);
/** PngSuite files whose only fault is a broken signature. */
const NO_PNG = /^x(s[1247]|cr|lf)/;

for (const file of readdirSync(suite).filter((name) => name.endsWith('.png')))
  test(`PngSuite ${file} gets a watermark or is refused as expected`, async (t) => {
    const source = readFileSync(new URL(file, suite));
    if (file.startsWith('x')) {
      t.is(await refusal(source), NO_PNG.test(file) ? 'unsupported_source' : 'corrupt_source');
      return;
    }
    const made = await mark(source, { opacity: 0.05, text: 'a' });
    const [before, after] = [PNG.sync.read(source), PNG.sync.read(made)];
    t.deepEqual([after.width, after.height], [before.width, before.height]);
    const premultiplied = ({ data }: PNG, at: number) =>
      ((data[at] ?? 0) * (at % 4 === 3 ? 255 : (data[at - (at % 4) + 3] ?? 0))) / 255;
    let untouched = 0;
    for (let at = 0; at < before.data.length; at++) {
      const [old, now] = [premultiplied(before, at), premultiplied(after, at)];
      if (Math.abs(old - now) > 14) t.fail(`${at}: ${old} is ${now}`);
      if (old === now) untouched++;
    }
    if (before.width > 8) t.true(untouched > before.data.length / 4);
  });

test('an image above the limit uses no memory, because it is never decoded', async (t) => {
  const tooLarge = makeTooLarge();
  const large = await flat(8000, 5000, [9, 9, 9]).jpeg().toBuffer();
  const [refused, taken] = await costsOf(tool.definition.name, [tooLarge, large], { text: 'x' });
  t.is(refused?.outcome, 'source_too_large');
  t.true((refused?.growth ?? Infinity) < 50_000_000, `${refused?.growth}`);
  // Shows that decoding would be noticed: this accepted image has fewer pixels, and decoding it uses more memory than is
  // allowed above.
  t.is(taken?.outcome, 'ok');
  t.true((taken?.growth ?? 0) > 50_000_000, `${taken?.growth}`);
  const [upscaled] = await costsOf('image-upscale', [tooLarge]);
  t.is(upscaled?.outcome, 'source_too_large');
  t.true((upscaled?.growth ?? Infinity) < 50_000_000, `${upscaled?.growth}`);
});

test('an image above the limit is refused because of its header, before a decoder reads it', async (t) => {
  const offload = () => {
    throw new Error('it was decoded');
  };
  const refused = (bytes: Buffer) =>
    codeOf(() => tool.call({ fileUrl: files.put({ bytes }), text: 'x' }, { egress: files.guard, offload }));
  t.is(await refused(makeTooLarge()), 'source_too_large');
  const jpeg = await flat(8, 8, [0, 0, 0]).jpeg().toBuffer();
  const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
  jpeg.writeUInt16BE(6000, frame + 5);
  jpeg.writeUInt16BE(7000, frame + 7);
  t.is(await refused(jpeg), 'source_too_large');
  const webp = await flat(8, 8, [0, 0, 0]).webp().toBuffer();
  webp.writeUInt16LE(7000, 26);
  webp.writeUInt16LE(6000, 28);
  t.is(await refused(webp), 'source_too_large');
});

test('the limit is 40 megapixels, which for an animation includes all frames', async (t) => {
  t.is(await refusal(await flat(8001, 5000, [0, 0, 0]).png().toBuffer()), 'source_too_large');
  const { width, height } = PNG.sync.read(await mark(await flat(8000, 5000, [9, 9, 9]).png().toBuffer()));
  t.deepEqual([width, height], [8000, 5000]);
  const frames = 41;
  const pixels = Buffer.alloc(1000 * 1000 * frames * 3);
  for (let frame = 0; frame < frames; frame++)
    pixels.fill(frame, frame * 3_000_000, frame * 3_000_000 + 3000);
  const raw = { width: 1000, height: 1000 * frames, channels: 3, pageHeight: 1000 } as const;
  const source = await sharp(pixels, { raw }).webp({ lossless: true, effort: 0 }).toBuffer();
  t.is(await refusal(source), 'source_too_large');
});

test('a header that misstates the image size is detected', async (t) => {
  const webp = await sharp({
    create: { width: 300, height: 200, channels: 4, background: { r: 1, g: 2, b: 3, alpha: 0.5 } },
  })
    .webp({ alphaQuality: 50 })
    .toBuffer();
  t.is(webp.toString('latin1', 12, 16), 'VP8X');
  webp.writeUIntLE(0, 24, 3);
  t.is(await refusal(webp), 'corrupt_source');
  const jpeg = await flat(64, 64, [5, 5, 5]).jpeg().toBuffer();
  const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
  const header = Buffer.from(jpeg.subarray(frame, frame + 2 + jpeg.readUInt16BE(frame + 2)));
  header.writeUInt16BE(600, 5);
  header.writeUInt16BE(600, 7);
  const twice = Buffer.concat([
    jpeg.subarray(0, frame),
    jpeg.subarray(frame, frame + header.length),
    header,
    jpeg.subarray(frame),
  ]);
  t.is(await refusal(twice), 'corrupt_source');
});

test('files other than PNG, JPEG and WebP are refused, whatever their name is', async (t) => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
    Buffer.from('<!doctype html><title>Not found</title>'),
    Buffer.from('%PDF-1.7\n'),
    await flat(9, 9, [1, 2, 3]).gif().toBuffer(),
    await flat(9, 9, [1, 2, 3]).tiff().toBuffer(),
    await flat(9, 9, [1, 2, 3]).avif().toBuffer(),
    Buffer.from('BM6\0\0\0\0\0\0\0'),
  ]) {
    const fileUrl = files.put({ bytes, headers: { 'Content-Type': 'image/png' } }, 'picture.png');
    t.is(
      await codeOf(() => tool.call({ fileUrl, text: 'x' }, { egress: files.guard })),
      'unsupported_source',
    );
  }
});

test('damaged files are distinguished from valid ones, and no worker crashes', async (t) => {
  const random = seededRandom(t.log);
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const noise = Buffer.from(random.bytes(40 * 30 * 3));
    const whole = await sharp(noise, { raw: { width: 40, height: 30, channels: 3 } })
      .toFormat(format)
      .toBuffer();
    t.is(await refusal(whole), 'ok');
    for (const share of [0.1, 0.5, 0.9])
      t.is(
        await refusal(whole.subarray(0, Math.floor(whole.length * share))),
        'corrupt_source',
        `${format} ${share}`,
      );
    for (let round = 0; round < 15; round++) {
      const bytes = Buffer.from(whole);
      for (let flips = random.integer(1, 8); flips > 0; flips--)
        bytes[random.integer(0, bytes.length - 1)] = random.integer(0, 255);
      const code = await refusal(bytes);
      t.true(['ok', 'corrupt_source', 'unsupported_source', 'source_too_large'].includes(code), code);
    }
  }
});

test('the limit of 200 characters counts graphemes', async (t) => {
  const family = '👨‍👩‍👧‍👦';
  t.notThrows(() => tool.validate({ fileUrl: 'https://example.com/', text: family.repeat(200) }));
  t.notThrows(() => tool.validate({ fileUrl: 'https://example.com/', text: 'é'.repeat(200) }));
  for (const text of [
    family.repeat(201),
    'x'.repeat(201),
    '',
    ' \n\t ',
    'a\0b',
    'a\x1bb',
    'a\ud800',
    `a${'\u0301'.repeat(4000)}`,
  ])
    t.is(
      (await faultsOf(tool, { fileUrl: 'https://example.com/', text }))[0]?.pointer,
      '/text',
      text.slice(0, 9),
    );
});

test('a text without visible characters is refused', async (t) => {
  const bytes = await flat(50, 50, [0, 0, 0]).png().toBuffer();
  for (const text of ['\u200b\u200b', '\u2060', '\u00ad', '\u3164'])
    t.is(await refusal(bytes, { text }), 'invalid_input', escape(text));
});

for (const [body, pointer] of [
  [{ fileUrl: 'ftp://example.com/a.png' }, '/fileUrl'],
  [{ fileUrl: 'a.png' }, '/fileUrl'],
  [{ fileUrl: 'https://me:pass@example.com/' }, '/fileUrl'],
  [{ opacity: 0.04 }, '/opacity'],
  [{ opacity: 1.01 }, '/opacity'],
  [{ position: 'middle' }, '/position'],
] as const)
  test(`refuses ${JSON.stringify(body)}`, async (t) => {
    const faults = await faultsOf(tool, { fileUrl: 'https://example.com/', text: 'x', ...body });
    t.deepEqual(
      faults.map((fault) => fault.pointer),
      [pointer],
    );
  });

test('a URL that does not return a file is refused', async (t) => {
  const fileUrl = files.put({ bytes: await flat(9, 9, [1, 2, 3]).png().toBuffer(), status: 404 });
  t.is(await codeOf(() => tool.call({ fileUrl, text: 'x' }, { egress: files.guard })), 'target_failed');
  const large = files.put({ bytes: Buffer.alloc(20 * 1024 * 1024 + 1, 0x89) });
  t.is(
    await codeOf(() => tool.call({ fileUrl: large, text: 'x' }, { egress: files.guard })),
    'source_too_large',
  );
  t.is(
    await codeOf(() => tool.call({ fileUrl: 'http://127.0.0.1/a.png', text: 'x' }, { egress: files.guard })),
    'target_refused',
  );
});

test('the file name is that of the source with the extension of its type', async (t) => {
  const bytes = await flat(9, 9, [1, 2, 3]).jpeg().toBuffer();
  const fileUrl = files.put({ bytes }, 'holiday.photo.png');
  const output = await tool.call({ fileUrl, text: 'x' }, { egress: files.guard });
  t.like(output, { fileName: 'holiday.photo.jpg', mimeType: 'image/jpeg' });
});
