import test from 'ava';
import sharp, { type Sharp } from 'sharp';
import { comparePictures } from '../../activities/images/comparePictures.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { PICTURES } from '../../schemas/schedules.ts';

const later = (): number => Date.now() + 60_000;
const grey = (width: number, height: number): Sharp =>
  sharp({ create: { width, height, channels: 3, background: '#909090' } });
const box = (width: number, height: number, background: string) =>
  sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();

/** The red pixels of a difference, and its size. */
async function redOf(picture: Uint8Array) {
  const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const red: [x: number, y: number][] = [];
  for (let at = 0; at < info.width * info.height; at++)
    if ((data[3 * at] ?? 0) > 150 && (data[3 * at + 1] ?? 0) < 100)
      red.push([at % info.width, Math.floor(at / info.width)]);
  return { red, width: info.width, height: info.height };
}

test('pixels that differ visibly are counted and shown in red', async (t) => {
  const before = await grey(400, 300).png().toBuffer();
  const after = await grey(400, 300)
    .composite([{ input: await box(10, 10, '#d02020'), left: 100, top: 50 }])
    .png()
    .toBuffer();
  const { changedPixels, pixels, picture } = await comparePictures(before, after, later());
  t.deepEqual({ changedPixels, pixels }, { changedPixels: 100, pixels: 400 * 300 });
  const { red, ...size } = await redOf(picture);
  t.deepEqual(size, { width: 400, height: 300 });
  t.is(red.length, 100);
  t.true(red.every(([x, y]) => x >= 100 && x < 110 && y >= 50 && y < 60));
});

test('noise, compression and transparency are no difference', async (t) => {
  const before = await grey(200, 200).png().toBuffer();
  const noise = { type: 'gaussian', mean: 0x90, sigma: 2 } as const;
  const noisy = await sharp({ create: { width: 200, height: 200, channels: 3, background: '#000', noise } })
    .png()
    .toBuffer();
  const clear = await grey(200, 200).ensureAlpha().webp({ quality: 80 }).toBuffer();
  for (const after of [before, noisy, clear, await grey(200, 200).jpeg({ quality: 60 }).toBuffer()])
    t.is((await comparePictures(before, after, later())).changedPixels, 0);
});

test('what only one of the pictures has is a difference', async (t) => {
  const [small, tall] = [await grey(100, 100).png().toBuffer(), await grey(80, 160).png().toBuffer()];
  const { changedPixels, pixels, picture } = await comparePictures(small, tall, later());
  t.deepEqual({ changedPixels, pixels }, { changedPixels: 20 * 100 + 80 * 60, pixels: 100 * 100 + 80 * 60 });
  const { red, width, height } = await redOf(picture);
  t.deepEqual([width, height, red.length], [100, 160, changedPixels]);
  t.false(red.some(([x, y]) => (x < 80 && y < 100) || (x >= 80 && y >= 100)));
});

test('the picture of a difference is small, and still shows a single pixel', async (t) => {
  const before = await grey(3000, 2400).png().toBuffer();
  const after = await grey(3000, 2400)
    .composite([{ input: await box(1, 1, '#000000'), left: 2999, top: 2399 }])
    .png()
    .toBuffer();
  const { changedPixels, picture } = await comparePictures(before, after, later());
  t.is(changedPixels, 1);
  const { red, width, height } = await redOf(picture);
  t.true(width * height <= PICTURES.shownPixels * 1.01 && width * height > PICTURES.shownPixels / 2);
  t.deepEqual(red, [[width - 1, height - 1]]);
});

test('files that cannot be decoded are refused', async (t) => {
  const picture = await grey(100, 100).png().toBuffer();
  const broken = picture.subarray(0, picture.length - 30);
  const error = await t.throwsAsync(comparePictures(picture, broken, later()), { instanceOf: ServiceError });
  t.is(error?.code, 'corrupt_source');
});
