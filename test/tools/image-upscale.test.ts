import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import test from 'ava';
import sharp, { type Sharp } from 'sharp';
import { MAX_IDLE_BYTES } from '../../activities/decoders/child.ts';
import type { Job, Offload } from '../../activities/decoders/offload.ts';
import { startDecoder } from '../../activities/decoders/process.ts';
import type { DecodedImage } from '../../activities/images/decode.ts';
import { readImageHeader } from '../../activities/images/header.ts';
import { pngChunk } from '../../activities/images/png.ts';
import type upscaleJob from '../../activities/jobs/upscale.ts';
import { coarsenessOf } from '../../activities/upscale/coarseness.ts';
import { enlarge, type Plane } from '../../activities/upscale/lanczos.ts';
import { openNetwork } from '../../activities/upscale/network.ts';
import { FACTORS } from '../../activities/upscale/networkTypes.ts';
import { upscale } from '../../activities/upscale/upscale.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { codeOf } from '../helpers/egress.ts';
import { makeImage, startFiles } from '../helpers/images.ts';
import { seededRandom } from '../helpers/random.ts';
import { runJobWithout } from '../helpers/thread.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';
import { gainOf, ROUNDING, SOURCES } from '../quality/gain.ts';
import { judgingSet } from '../quality/pictures.ts';

const tool = await loadTool('image-upscale');
const files = await startFiles();
test.after.always(async () => {
  files.close();
});

const upscaled = (bytes: Buffer, factor: 2 | 4 = 2) => makeImage(tool, files, bytes, { factor });
const refusal = (bytes: Buffer, factor: 2 | 4 = 2) => codeOf(() => upscaled(bytes, factor));

const flat = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: { r: 30, g: 111, b: 200, alpha: 0.5 } } });

/**
 * Draws stripes and discs with soft and hard edges, which the neural network enlarges differently from an
 * interpolation.
 */
const drawing = (width: number, height: number) =>
  sharp(
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 60 40">
      <rect width="60" height="40" fill="#fc8"/><circle cx="20" cy="20" r="13" fill="#058"/>
      <path d="M0 0L60 40M10 0L60 30M30 40L50 0" stroke="#222" stroke-width="0.8"/>
      <text x="25" y="30" font-size="14" font-family="sans-serif" fill="#a03">Ag</text></svg>`,
    ),
  ).removeAlpha();

const pictureOf = async (image: Sharp): Promise<DecodedImage> => {
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
  return { ...info, data, frames: 1, icc: null, colourChunks: [], density: null, delay: [], loop: 0 };
};

type Samples = ArrayLike<number>;
const worstOf = (a: Samples, b: Samples): number =>
  Array.from(a).reduce((most, value, at) => Math.max(most, Math.abs(value - (b[at] ?? 0))), 0);
/** Returns one channel of an image with three channels. */
const samplesOf = (data: Samples, channel: number): Float32Array =>
  Float32Array.from(data).filter((_, at) => at % 3 === channel);
/** Returns the alpha channel of an image with four channels. */
const samplesOfAlpha = ({ data }: DecodedImage): Uint8Array =>
  Uint8Array.from(data.filter((_, at) => at % 4 === 3));
const planeOf = ({ data, width, height }: DecodedImage, channel: number): Plane => ({
  data: samplesOf(data, channel),
  width,
  height,
});

const MODELS = new URL('../../activities/upscale/models/', import.meta.url);

for (const factor of [2, 4] as const) {
  test(`the origin of the model at ${factor}x is documented`, async (t) => {
    const hash = createHash('sha256').update(await readFile(new URL(`${factor}x.onnx`, MODELS)));
    t.true((await readFile(new URL('README.md', MODELS), 'utf8')).includes(hash.digest('hex')));
  });

  test.serial(`UpscalerJS is the fallback without ONNX Runtime at ${factor}x`, async (t) => {
    // In smaller images the weight of the network cannot be measured.
    const side = factor === 2 ? 32 : 80;
    const bytes = await drawing(side, side).png().toBuffer();
    let asked = 0;
    const offload: Offload = async <J extends Job>(
      job: string,
      input: Parameters<J>[0],
    ): Promise<Awaited<ReturnType<J>>> => {
      const { output, missed } = await runJobWithout<Awaited<ReturnType<J>>>('onnxruntime-node', job, input);
      asked += missed;
      return output;
    };
    const body = { fileUrl: files.put({ bytes }), factor };
    const { fileBase64 } = await tool.call(body, { egress: files.guard, offload });
    const made = await pictureOf(sharp(Buffer.from(String(fileBase64), 'base64')));
    t.is(asked, 1);
    t.is(made.data.length, 3 * (side * factor) ** 2);
    // Shows that the network was applied: plain interpolation gives a different result.
    const plain = enlarge(planeOf(await pictureOf(sharp(bytes)), 0), factor).data;
    t.true(worstOf(new Uint8ClampedArray(plain), samplesOf(made.data, 0)) > 3);
  });

  test.serial(`tiling leaves no seam at ${factor}x`, async (t) => {
    const picture = await pictureOf(drawing(120, 80));
    const network = await openNetwork(factor);
    const whole = await upscale(picture, factor, network, { tile: 1000 });
    const tiled = await upscale(picture, factor, network, { tile: 47 });
    const worst = worstOf(whole.data, tiled.data);
    // Tiles add floating-point numbers in another order, which may round differently.
    t.true(worst <= 1, `${worst}`);
    t.like(tiled, { width: 120 * factor, height: 80 * factor });
  });

  test.serial(`every format and odd sizes are enlarged at ${factor}x`, async (t) => {
    for (const format of ['png', 'jpeg', 'webp'] as const)
      for (const [width, height] of [
        [1, 1],
        [1, 9],
        [7, 1],
        [33, 21],
      ] as const) {
        const made = await upscaled(await flat(width, height).toFormat(format).toBuffer(), factor);
        const { data, info } = await sharp(made).raw().toBuffer({ resolveWithObject: true });
        t.like(info, { width: width * factor, height: height * factor, channels: 3 });
        t.is((await sharp(made).metadata()).format, format);
        // A flat colour stays flat, except for the compression losses of JPEG and WebP.
        const off = [30, 111, 200].map((value, channel) => Math.abs(value - (data[channel] ?? 0)));
        t.true(Math.max(...off) <= (format === 'png' ? 0 : 6), `${format} ${width} ${height} ${off}`);
      }
  });

  test.serial(`the limit at ${factor}x is 16 megapixels of output`, async (t) => {
    const side = 4000 / factor;
    t.is(
      await refusal(
        await flat(side + 1, side)
          .png()
          .toBuffer(),
        factor,
      ),
      'source_too_large',
    );
    const offload = () => {
      throw new RangeError('taken');
    };
    const fileUrl = files.put({ bytes: await flat(side, side).png().toBuffer() });
    await t.throwsAsync(tool.call({ fileUrl, factor }, { egress: files.guard, offload }), {
      message: 'taken',
    });
  });
}

for (const [format, most] of [
  ['jpeg', 65_500],
  ['webp', 16_383],
] as const)
  test.serial(
    `a ${format} that would exceed the maximum width or height of its format is refused before any work`,
    async (t) => {
      const offload = () => {
        throw new RangeError('taken');
      };
      const call = async (width: number, height: number) => {
        const bytes = await flat(width, height).toFormat(format).toBuffer();
        return tool.call({ fileUrl: files.put({ bytes }), factor: 4 }, { egress: files.guard, offload });
      };
      const side = Math.floor(most / 4);
      t.like(await sharp(await upscaled(await flat(side, 1).toFormat(format).toBuffer(), 4)).metadata(), {
        width: 4 * side,
        height: 4,
      });
      for (const [width, height] of [
        [side + 1, 2],
        [2, side + 1],
      ] as const) {
        const { code, detail = '' } =
          (await t.throwsAsync(call(width, height), { instanceOf: ServiceError })) ?? {};
        t.is(code, 'output_too_large');
        t.regex(detail, new RegExp(`${4 * width} x ${4 * height} pixels; .*${most}`));
      }
    },
  );

/**
 * Photographs with fine details, and pictures that mislead networks: very smooth, strictly periodic, text. The smallest gain in
 * luma PSNR over Lanczos that is expected of each at 2x and at 4x, in dB.
 */
const GAINS = {
  'astronaut.png': [1.2, 0.8],
  'coffee.png': [1.2, 0.8],
  'brick.png': [0, 0],
  'cell.png': [0, 0],
  'clock_motion.png': [0, 0],
  'retina.jpg': [0, 0],
  'page.png': [0, 0],
} as const;

for (const [name, least] of Object.entries(GAINS))
  test.serial(
    `${name} is closer to the original than by Lanczos, by ${least.join(' and ')} dB`,
    async (t) => {
      const path = (await judgingSet()).find((it) => it.endsWith(`/${name}`)) ?? '';
      for (const [index, factor] of FACTORS.entries())
        for (const source of SOURCES) {
          const { gain } = await gainOf(path, {
            factor,
            side: 128,
            network: await openNetwork(factor),
            source,
          });
          const wanted = source.quality === null ? (least[index] ?? 0) : 0;
          t.true(gain >= wanted - ROUNDING, `${factor}x ${source.name}: ${gain}`);
        }
    },
  );

test('how coarsely an image was compressed is read from its file', async (t) => {
  const image = flat(16, 16);
  for (const [quality, wanted] of [
    [50, 1],
    [75, 0.5],
    [95, 0.1],
  ] as const) {
    const found = coarsenessOf(await image.clone().jpeg({ quality }).toBuffer(), {
      type: 'jpeg',
      lossless: false,
    });
    t.true(Math.abs(found - wanted) < 0.05, `${quality}: ${found}`);
  }
  t.is(coarsenessOf(await image.clone().png().toBuffer(), { type: 'png', lossless: true }), 0);
});

test.serial('opaque images stay opaque, and the alpha channel is enlarged separately', async (t) => {
  const opaque = await upscaled(await drawing(50, 40).ensureAlpha(1).png().toBuffer());
  const { data } = await sharp(opaque).raw().toBuffer({ resolveWithObject: true });
  t.true(data.every((value, at) => at % 4 !== 3 || value === 255));
  const half = await sharp(await upscaled(await flat(20, 20, 4).png().toBuffer()))
    .raw()
    .toBuffer();
  t.true(half.every((value, at) => at % 4 !== 3 || value === 128));
});

/** Draws a disc on a transparent background, whose invisible pixels are black. */
const disc = (side: number, fill: string) =>
  sharp(
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}" viewBox="0 0 9 9"><circle cx="4.3" cy="4.6" r="3.3" fill="${fill}"/></svg>`,
    ),
  );

for (const factor of [2, 4] as const)
  test.serial(`black in invisible pixels does not bleed into visible edges at ${factor}x`, async (t) => {
    const yellow = [255, 221, 0] as const;
    const small = await disc(90, `rgb(${yellow})`).png().toBuffer();
    const made = await pictureOf(sharp(await upscaled(small, factor)));
    const lanczos = await sharp(small)
      .resize(90 * factor, 90 * factor, { kernel: 'lanczos3' })
      .raw()
      .toBuffer();
    // Returns the squared difference from the disc's colour, weighted by alpha: 0 if no other colour bleeds into the
    // edge.
    const error = (data: Samples) =>
      Array.from(data).reduce((sum, value, at) => {
        const alpha = (data[at - (at % 4) + 3] ?? 0) / 255;
        return at % 4 === 3 ? sum : sum + (alpha * (value - (yellow[at % 4] ?? 0))) ** 2;
      }, 0);
    t.true(error(made.data) <= error(lanczos), `${error(made.data)} ${error(lanczos)}`);
  });

test.serial(
  'colours of invisible pixels do not change visible pixels, also in greyscale and 16-bit images',
  async (t) => {
    const network = await openNetwork(2);
    const white = await pictureOf(disc(60, 'white'));
    const alpha = samplesOfAlpha(white);
    for (const depth of [1, 257])
      for (const channels of [2, 4] as const) {
        const withHidden = (hidden: number): DecodedImage => {
          const samples = [...alpha].flatMap((value) => [
            ...Array(channels - 1).fill(value === 0 ? hidden : 200 * depth),
            value * depth,
          ]);
          return {
            ...white,
            channels,
            data: depth === 1 ? Uint8Array.from(samples) : Uint16Array.from(samples),
          };
        };
        const [black, light] = [
          await upscale(withHidden(0), 2, network),
          await upscale(withHidden(255 * depth), 2, network),
        ];
        t.deepEqual(black.data, light.data);
        t.true(
          black.data.every(
            (value, at) => at % channels === channels - 1 || value === 0 || value === 200 * depth,
          ),
        );
      }
  },
);

test.serial('greyscale and 16 bits are preserved', async (t) => {
  const grey = await upscaled(await drawing(40, 30).toColourspace('b-w').png().toBuffer());
  t.like(await sharp(grey).metadata(), { space: 'b-w', channels: 1, width: 80, height: 60 });
  const pixels = Uint16Array.from({ length: 24 * 20 * 3 }, () => 30_001);
  const deep = await sharp(pixels, { raw: { width: 24, height: 20, channels: 3 } })
    .toColourspace('rgb16')
    .png()
    .toBuffer();
  const data = await sharp(await upscaled(deep))
    .toColourspace('rgb16')
    .raw({ depth: 'ushort' })
    .toBuffer();
  const values = new Uint16Array(data.buffer, data.byteOffset, data.length / 2);
  t.true(values.every((value) => Math.abs(value - 30_001) <= 1));
});

/**
 * Encodes a BMP of 24 bits per pixel (BITMAPINFOHEADER): rows bottom up, blue first, rows padded to a multiple of four
 * bytes.
 */
function bmp(width: number, height: number, [red, green, blue]: readonly [number, number, number]): Buffer {
  const row = Buffer.alloc(Math.ceil((3 * width) / 4) * 4);
  for (let x = 0; x < width; x++) row.set([blue, green, red], 3 * x);
  const header = Buffer.alloc(54);
  header.write('BM');
  header.writeUInt32LE(54 + row.length * height, 2);
  header.writeUInt32LE(54, 10);
  header.writeUInt32LE(40, 14);
  header.writeInt32LE(width, 18);
  header.writeInt32LE(height, 22);
  header.writeUInt16LE(1, 26);
  header.writeUInt16LE(24, 28);
  return Buffer.concat([header, ...Array.from({ length: height }, () => row)]);
}

test.serial('a BMP is returned as a PNG', async (t) => {
  const made = await upscaled(bmp(5, 3, [200, 100, 50]));
  const { data, info } = await sharp(made).raw().toBuffer({ resolveWithObject: true });
  t.like(info, { width: 10, height: 6, channels: 3 });
  t.deepEqual([...data.subarray(0, 3)], [200, 100, 50]);
  t.is(await refusal(bmp(5, 3, [1, 2, 3]).subarray(0, 40)), 'corrupt_source');
});

test.serial('files that are not images, damaged files and animations are refused', async (t) => {
  t.is(await refusal(Buffer.from('<!doctype html>')), 'unsupported_source');
  const png = await drawing(60, 40).png().toBuffer();
  t.is(await refusal(png.subarray(0, png.length >> 1)), 'corrupt_source');
  const raw = { width: 20, height: 40, channels: 3, pageHeight: 20 } as const;
  const frames = Buffer.alloc(20 * 40 * 3).fill(200, 0, 1200);
  t.is(await refusal(await sharp(frames, { raw }).webp().toBuffer()), 'unsupported_source');
  t.is(await refusal(Buffer.alloc(10 * 1024 * 1024 + 1, 0x89)), 'source_too_large');
});

test.serial('an animated PNG is refused unless it shows only one image', async (t) => {
  const png = await flat(20, 20).png().toBuffer();
  const endOfHeader = 33;
  const animated = (frames: number) => {
    const control = Buffer.alloc(8);
    control.writeUInt32BE(frames);
    return Buffer.concat([
      png.subarray(0, endOfHeader),
      pngChunk('acTL', control),
      png.subarray(endOfHeader),
    ]);
  };
  t.is(await refusal(animated(2)), 'unsupported_source');
  t.is(await refusal(animated(1)), 'ok');
});

test.serial('cancelled calls end at once at any stage, and the next call succeeds', async (t) => {
  const random = seededRandom(t.log);
  const fileUrl = files.put({ bytes: await drawing(1200, 800).png().toBuffer() });
  const reason = new Error('hung up');
  for (let round = 0; round < 5; round++) {
    const stop = new AbortController();
    const call = tool.call({ fileUrl }, { egress: files.guard, signal: stop.signal });
    setTimeout(() => stop.abort(reason), random.integer(0, 1500));
    t.is(await t.throwsAsync(call), reason);
  }
  const late = tool.call({ fileUrl }, { egress: files.guard, deadline: Date.now() + 2000 });
  t.regex(await codeOf(() => late), /^(?:deadline_exceeded|target_timeout)$/);
  t.is(await refusal(await drawing(40, 30).png().toBuffer()), 'ok');
});

test.serial('a process that has enlarged 512 x 384 pixels is small enough to be kept', async (t) => {
  const bytes = await drawing(512, 384).png().toBuffer();
  const header = readImageHeader(bytes)?.header;
  if (header === null || header === undefined) throw new Error('no image');
  const decoder = startDecoder({ memoryBytes: 3 * 2 ** 30, log: t.log });
  t.teardown(decoder.kill);
  const input = { bytes, header, type: 'png', maxPixels: 1e6, deadline: Date.now() + 100_000 } as const;
  for (const factor of FACTORS) {
    const job = { job: 'upscale', input: { ...input, factor } satisfies Parameters<typeof upscaleJob>[0] };
    await decoder.run(job, AbortSignal.timeout(100_000));
    t.true(decoder.rssBytes <= MAX_IDLE_BYTES, `${decoder.rssBytes / 2 ** 20} MB at ${factor}x`);
  }
});

test.serial('only the factors 2 and 4 are accepted', async (t) => {
  for (const factor of [1, 3, 8, 2.5])
    t.is((await faultsOf(tool, { fileUrl: 'https://example.com/', factor }))[0]?.pointer, '/factor');
});
