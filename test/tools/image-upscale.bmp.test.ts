import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import sharp from 'sharp';
import { decodeBmp } from '../../activities/images/decodeBmp.ts';
import { readImageHeader } from '../../activities/images/header.ts';
import { codeOf } from '../helpers/egress.ts';
import { makeImage, startFiles } from '../helpers/images.ts';
import { seededRandom } from '../helpers/random.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('image-upscale');
const files = await startFiles();
test.after.always(async () => {
  files.close();
});

const suite = new URL('../vectors/bmpsuite/', import.meta.url);
const vector = (path: string) => readFileSync(new URL(path, suite));

function decode(bytes: Buffer) {
  const header = readImageHeader(bytes)?.header;
  if (header === undefined || header === null) throw new Error('no size');
  return decodeBmp(bytes, header);
}
const upscaled = (bytes: Buffer) => makeImage(tool, files, bytes);
const refusal = (bytes: Buffer) => codeOf(() => upscaled(bytes));

/**
 * BMP files by the reference image that shows their content. Pixels that the run-length encoding leaves out have the
 * palette's first colour.
 */
const SHOWN: Record<string, readonly string[]> = {
  pal1: ['good/pal1', 'good/pal1wb'],
  pal1bg: ['good/pal1bg'],
  pal1p1: ['questionable/pal1p1'],
  pal2color: ['questionable/pal2color'],
  pal4: ['good/pal4', 'good/pal4rle'],
  pal4gs: ['good/pal4gs'],
  'pal4rlecut-0': ['questionable/pal4rlecut'],
  'pal4rletrns-0': ['questionable/pal4rletrns'],
  pal8: [
    ...['good/pal8', 'good/pal8-0', 'good/pal8rle', 'good/pal8topdown', 'good/pal8v4', 'good/pal8v5'],
    ...['good/pal8os2', 'questionable/pal8os2-hs', 'questionable/pal8os2sp', 'questionable/pal8os2v2'],
    ...['questionable/pal8os2v2-16', 'questionable/pal8offs', 'questionable/pal8oversizepal'],
    ...['bad/badpalettesize', 'bad/rletopdown'],
  ],
  pal8gs: ['good/pal8gs'],
  'pal8nonsquare-e': ['good/pal8nonsquare'],
  'pal8rlecut-0': ['questionable/pal8rlecut'],
  'pal8rletrns-0': ['questionable/pal8rletrns'],
  pal8w124: ['good/pal8w124'],
  pal8w125: ['good/pal8w125'],
  pal8w126: ['good/pal8w126'],
  rgb16: ['good/rgb16', 'good/rgb16bfdef', 'questionable/rgb16faketrns'],
  'rgb16-231': ['questionable/rgb16-231'],
  'rgb16-3103': ['questionable/rgb16-3103'],
  'rgb16-565': ['good/rgb16-565', 'good/rgb16-565pal'],
  'rgb16-880': ['bad/rgb16-880'],
  rgb24: [
    ...['good/rgb24', 'good/rgb24pal', 'good/rgb32', 'good/rgb32bf', 'good/rgb32bfdef'],
    ...['questionable/rgb32-111110', 'questionable/rgb32-xbgr', 'questionable/rgb32fakealpha'],
    'questionable/rgb32h52',
  ],
  'rgba16-4444': ['questionable/rgba16-4444'],
  'rgba16-5551': ['questionable/rgba16-5551'],
  rgba32: ['questionable/rgba32-1', 'questionable/rgba32abf', 'questionable/rgba32h56'],
  'rgba32-61754': ['questionable/rgba32-61754'],
};
/** Files with colour masks of more than 8 bits, whose values are not rounded to the nearest in the reference images. */
const WIDE = ['questionable/rgb32-111110', 'questionable/rgba32-61754'];

for (const [reference, names] of Object.entries(SHOWN))
  for (const name of names)
    test(`BMP Suite ${name} is decoded like its reference image`, async (t) => {
      const made = decode(vector(`${name}.bmp`));
      const wanted = await sharp(vector(`reference/${reference}.png`))
        .ensureAlpha()
        .raw()
        .toBuffer({ resolveWithObject: true });
      t.like(made, { width: wanted.info.width, height: wanted.info.height });
      t.is(made.channels, reference.startsWith('rgba') ? 4 : 3);
      let worst = 0;
      for (let pixel = 0; pixel < made.width * made.height; pixel++) {
        const alpha = wanted.data[4 * pixel + 3] ?? 0;
        if (made.channels === 4) worst = Math.max(worst, Math.abs((made.data[4 * pixel + 3] ?? 0) - alpha));
        // Colours are compared only where alpha is above 0, because the colour of a transparent pixel is not visible.
        if (alpha > 0)
          for (let channel = 0; channel < 3; channel++) {
            const value = made.data[pixel * made.channels + channel] ?? 0;
            worst = Math.max(worst, Math.abs(value - (wanted.data[4 * pixel + channel] ?? 0)));
          }
      }
      t.true(worst <= (WIDE.includes(name) ? 1 : 0), `${worst}`);
    });

for (const name of ['rgb24jpeg', 'rgb24png', 'rgb24rle24', 'pal1huffmsb', 'rgba64'])
  test(`BMP Suite ${name} is refused as unsupported`, async (t) => {
    t.is(await refusal(vector(`questionable/${name}.bmp`)), 'unsupported_source');
  });

for (const name of [
  'badbitcount',
  'badheadersize',
  'badrle',
  'badrle4',
  'badrleter',
  'badwidth',
  'shortfile',
])
  test(`BMP Suite ${name} is refused as damaged`, async (t) => {
    t.is(await refusal(vector(`bad/${name}.bmp`)), 'corrupt_source');
  });

test('a colour index outside the palette is black, and the other pixels are unaffected', (t) => {
  const [made, whole] = [decode(vector('bad/pal8badindex.bmp')), decode(vector('good/pal8.bmp'))];
  const pixel = (data: ArrayLike<number>, at: number) =>
    [data[3 * at], data[3 * at + 1], data[3 * at + 2]].join();
  const pixels = Array.from({ length: made.width * made.height }, (_, at) => at);
  const black = pixels.filter((at) => pixel(made.data, at) === '0,0,0');
  t.true(black.length > 1000 && black.length < pixels.length - 1000);
  t.true(pixels.every((at) => black.includes(at) || pixel(made.data, at) === pixel(whole.data, at)));
});

for (const [what, offset] of [
  ['zero', 0],
  ['an offset within the headers', 20],
  ['an offset beyond the end', 0xfffffff0],
] as const)
  test(`if the pixel offset is ${what}, the pixels are read from directly after the palette`, (t) => {
    const bytes = vector('good/pal8.bmp');
    bytes.writeUInt32LE(offset, 10);
    t.deepEqual(decode(bytes), decode(vector('good/pal8.bmp')));
  });

test('an image whose alpha channel was never written is opaque', (t) => {
  const bytes = vector('questionable/rgba32-1.bmp');
  for (let at = bytes.readUInt32LE(10) + 3; at < bytes.length; at += 4) bytes[at] = 0;
  const { data } = decode(bytes);
  t.true(data.every((value, at) => at % 4 !== 3 || value === 255));
});

test('the padding of the last row may be missing; if a pixel is missing, the file is refused', (t) => {
  const bytes = vector('good/rgb24.bmp');
  const { width } = decode(bytes);
  const padding = -(3 * width) & 3;
  t.true(padding > 0);
  t.deepEqual(decode(bytes.subarray(0, -padding)), decode(bytes));
  t.throws(() => decode(bytes.subarray(0, -padding - 1)), { message: /damaged/ });
});

for (const [path, reference] of [
  ['good/pal4', 'pal4'],
  ['questionable/pal8os2v2', 'pal8'],
] as const)
  test(`${path} is enlarged like the PNG of the same image`, async (t) => {
    const png = await sharp(vector(`reference/${reference}.png`))
      .png({ palette: false })
      .toBuffer();
    t.deepEqual(await upscaled(vector(`${path}.bmp`)), await upscaled(png));
  });

test('an embedded colour profile is kept', async (t) => {
  const flat = sharp({ create: { width: 2, height: 2, channels: 3, background: 'red' } });
  const { icc } = await sharp(await flat.withIccProfile('p3').png().toBuffer()).metadata();
  const bytes = vector('good/pal8v5.bmp');
  bytes.write('DEBM', 70, 'latin1');
  bytes.writeUInt32LE(bytes.length - 14, 126);
  bytes.writeUInt32LE(icc?.length ?? 0, 130);
  const made = await upscaled(Buffer.concat([bytes, icc ?? Buffer.alloc(0)]));
  t.deepEqual((await sharp(made).metadata()).icc, icc);
});

test('damaged files of any kind are reported as damaged', (t) => {
  const random = seededRandom(t.log);
  for (const folder of ['good', 'questionable', 'bad'])
    for (const file of readdirSync(new URL(folder, suite)))
      for (let round = 0; round < 20; round++) {
        const bytes = vector(`${folder}/${file}`).subarray(0, random.integer(26, 4000));
        for (let flips = random.integer(1, 8); flips > 0; flips--)
          bytes[random.integer(10, Math.min(bytes.length, 140) - 1)] = random.integer(0, 255);
        const header = readImageHeader(bytes)?.header;
        if (!header || header.width * header.height > 1_000_000) continue;
        try {
          const { data, width, height, channels } = decodeBmp(bytes, header);
          t.is(data.length, width * height * channels);
        } catch (error) {
          t.regex(
            String(error),
            /^ServiceError: .*(?:damaged|unsupported pixel encoding)/,
            `${file} ${bytes.toString('hex', 0, 140)}`,
          );
        }
      }
});
