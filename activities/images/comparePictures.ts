import sharp from 'sharp';
import { ServiceError } from '../../schemas/errors.ts';
import { PICTURES } from '../../schemas/schedules.ts';
import { isTimeout, withTimeout } from './decode.ts';

/** A decoded picture: rows from the top, three bytes per pixel. */
interface Raster {
  data: Buffer;
  width: number;
  height: number;
}

/** How two pictures differ. */
export interface ComparedPictures {
  /** Number of pixels that differ visibly, or that only one of the pictures has. */
  changedPixels: number;
  /** Number of pixels that at least one of the pictures has. */
  pixels: number;
  /** A PNG with the new picture in pale grey and what differs in red, reduced to `PICTURES.shownPixels`. */
  picture: Uint8Array;
}

const CHANNELS = 3;
/** How much of the contrast of the new picture the difference keeps, so that red stands out. */
const CONTRAST = 0.35;
const RED = [214, 0, 28] as const;
/** Colours of the palette: red and greys, whose steps are not visible at this contrast. */
const COLOURS = 64;

/** Decodes the first frame of a picture on white, upright and with 8 bits per channel. @throws ServiceError corrupt_source, deadline_exceeded */
async function decode(bytes: Uint8Array, deadline: number): Promise<Raster> {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  try {
    const image = sharp(source, { failOn: 'error', limitInputPixels: PICTURES.pixels })
      .autoOrient()
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
      .removeAlpha();
    const { data, info } = await withTimeout(image, deadline)
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    if (info.channels !== CHANNELS) throw new Error(`the picture has ${info.channels} channels`);
    return { data, width: info.width, height: info.height };
  } catch (error) {
    throw new ServiceError(isTimeout(error) ? 'deadline_exceeded' : 'corrupt_source', { cause: error });
  }
}

/** Whether a channel of two pixels differs by more than noise and the smoothing of edges. @param at first byte of each */
function differs(before: Buffer, at: number, after: Buffer, other: number): boolean {
  for (let channel = 0; channel < CHANNELS; channel++)
    if (Math.abs((before[at + channel] ?? 0) - (after[other + channel] ?? 0)) > PICTURES.tolerance)
      return true;
  return false;
}

/** Compares two pictures whose upper left corners coincide. */
export async function comparePictures(
  before: Uint8Array,
  after: Uint8Array,
  deadline: number,
): Promise<ComparedPictures> {
  const [old, now] = [await decode(before, deadline), await decode(after, deadline)];
  const both = { width: Math.min(old.width, now.width), height: Math.min(old.height, now.height) };
  const all = { width: Math.max(old.width, now.width), height: Math.max(old.height, now.height) };
  const scale = Math.min(1, Math.sqrt(PICTURES.shownPixels / (all.width * all.height)));
  const reduced = (length: number): number => Math.max(1, Math.round(length * scale));
  const shown = { width: reduced(all.width), height: reduced(all.height) };
  // A pixel of the difference is marked if one of the pixels that it stands for differs.
  const marked = new Uint8Array(shown.width * shown.height);
  const place = (x: number, y: number): number =>
    Math.min(shown.height - 1, Math.floor(y * scale)) * shown.width +
    Math.min(shown.width - 1, Math.floor(x * scale));
  let differing = 0;
  for (let y = 0; y < both.height; y++)
    for (let x = 0; x < both.width; x++)
      if (differs(old.data, CHANNELS * (y * old.width + x), now.data, CHANNELS * (y * now.width + x))) {
        differing++;
        marked[place(x, y)] = 1;
      }
  const common = both.width * both.height;
  const pixels = old.width * old.height + now.width * now.height - common;
  const has = ({ width, height }: Raster, x: number, y: number): boolean => x < width && y < height;
  for (let row = 0; row < shown.height; row++)
    for (let column = 0; column < shown.width; column++) {
      const [x, y] = [column / scale, row / scale];
      if (has(old, x, y) !== has(now, x, y)) marked[row * shown.width + column] = 1;
    }
  return {
    changedPixels: differing + pixels - common,
    pixels,
    picture: await draw(now, marked, shown, reduced, deadline),
  };
}

/** Draws the new picture in pale grey, and the marked pixels in red. */
async function draw(
  { data, width, height }: Raster,
  marked: Uint8Array,
  shown: { width: number; height: number },
  reduced: (length: number) => number,
  deadline: number,
): Promise<Uint8Array> {
  const raw = { width, height, channels: CHANNELS } as const;
  const [greyWidth, greyHeight] = [reduced(width), reduced(height)];
  const grey = await withTimeout(sharp(data, { raw, limitInputPixels: false }), deadline)
    .resize(greyWidth, greyHeight, { fit: 'fill' })
    .toColourspace('b-w')
    .raw()
    .toBuffer();
  const drawn = Buffer.alloc(CHANNELS * marked.length, 255);
  for (let at = 0; at < marked.length; at++) {
    const [x, y] = [at % shown.width, Math.floor(at / shown.width)];
    if (marked[at] === 1) drawn.set(RED, CHANNELS * at);
    else if (x < greyWidth && y < greyHeight)
      drawn.fill(
        255 - Math.round(CONTRAST * (255 - (grey[y * greyWidth + x] ?? 255))),
        CHANNELS * at,
        CHANNELS * (at + 1),
      );
  }
  return await withTimeout(sharp(drawn, { raw: { ...shown, channels: CHANNELS } }), deadline)
    .png({ palette: true, colours: COLOURS, dither: 0, effort: 1 })
    .toBuffer();
}
