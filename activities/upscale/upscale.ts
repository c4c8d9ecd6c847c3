import type { DecodedImage } from '../images/decode.ts';
import { combine, enlarge, type Plane } from './lanczos.ts';
import type { Factor, Network, Planes } from './networkTypes.ts';
import { clearTransparent, fillTransparent } from './transparency.ts';

/**
 * Width and height of a tile in pixels, without its border. Larger tiles need more memory; smaller tiles compute more
 * border pixels.
 */
const TILE = 512;
/**
 * Width in pixels of the border around a tile, which is computed and discarded so that tiles have no visible seams. It
 * must cover the receptive field: 12 pixels for the network, 3 for the reduction of its output, 3 for the window of the
 * trust and 1 for its interpolation.
 */
const BORDER = 20;

interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Extracts one channel of an area of the image, scaled to 0 to 255. */
function cut({ data, width, channels }: DecodedImage, channel: number, area: Area): Plane {
  const depth = data instanceof Uint16Array ? 257 : 1;
  const part = new Float32Array(area.width * area.height);
  for (let y = 0; y < area.height; y++)
    for (let x = 0; x < area.width; x++)
      part[y * area.width + x] =
        (data[channels * ((area.top + y) * width + area.left + x) + channel] ?? 0) / depth;
  return { data: part, width: area.width, height: area.height };
}

/**
 * Extracts the colour channels of an area. A grey channel is used three times, because the network needs three
 * channels.
 */
function cutColours(image: DecodedImage, area: Area): Planes {
  const first = cut(image, 0, area);
  return image.channels <= 2 ? [first, first, first] : [first, cut(image, 1, area), cut(image, 2, area)];
}

/** Copies a part of a plane, which starts at `skip`, into one channel of an area of an image. */
function paste(
  into: DecodedImage,
  channel: number,
  plane: Plane,
  area: Area,
  skip: { x: number; y: number },
): void {
  const { data, width, channels } = into;
  const deep = data instanceof Uint16Array;
  // Clamps and rounds samples of 8 bits by itself, which is several times as fast.
  const samples = deep ? data : new Uint8ClampedArray(data.buffer, data.byteOffset, data.length);
  for (let y = 0; y < area.height; y++) {
    let from = (y + skip.y) * plane.width + skip.x;
    let to = channels * ((area.top + y) * width + area.left) + channel;
    for (const end = from + area.width; from < end; from++, to += channels) {
      const value = plane.data[from] ?? 0;
      samples[to] = deep ? Math.min(65_535, Math.max(0, Math.round(257 * value))) : value;
    }
  }
}

const average = ([a, b, c]: Planes): Plane => combine(1 / 3, combine(1, a, 1, b), 1 / 3, c);

function* tilesOf(image: DecodedImage, tile: number): Generator<{ core: Area; bordered: Area }> {
  for (let top = 0; top < image.height; top += tile)
    for (let left = 0; left < image.width; left += tile) {
      const right = Math.min(image.width, left + tile);
      const bottom = Math.min(image.height, top + tile);
      const outer = { left: Math.max(0, left - BORDER), top: Math.max(0, top - BORDER) };
      yield {
        core: { left, top, width: right - left, height: bottom - top },
        bordered: {
          ...outer,
          width: Math.min(image.width, right + BORDER) - outer.left,
          height: Math.min(image.height, bottom + BORDER) - outer.top,
        },
      };
    }
}

interface Options {
  /** How coarsely the image was compressed; 0 if without loss. */
  coarseness?: number;
  /** Width and height of a tile, in pixels. */
  tile?: number;
}

/**
 * Enlarges the colours of an image with the network, and alpha by Lanczos. The colours of transparent pixels do not affect
 * visible ones.
 */
export async function upscale(
  image: DecodedImage,
  factor: Factor,
  network: Network,
  { coarseness = 0, tile = TILE }: Options = {},
): Promise<DecodedImage> {
  const { width, height, channels } = image;
  const samples = width * height * factor * factor * channels;
  const large: DecodedImage = {
    ...image,
    data: image.data instanceof Uint16Array ? new Uint16Array(samples) : new Uint8Array(samples),
    width: width * factor,
    height: height * factor,
  };
  const filled = fillTransparent(image);
  const whole = () => cutColours(filled, { left: 0, top: 0, width, height });
  const enlargeColours = await network.prepare(whole, coarseness);
  for (const { core, bordered } of tilesOf(image, tile)) {
    const area = {
      left: core.left * factor,
      top: core.top * factor,
      width: core.width * factor,
      height: core.height * factor,
    };
    const skip = { x: (core.left - bordered.left) * factor, y: (core.top - bordered.top) * factor };
    const colours = await enlargeColours(cutColours(filled, bordered));
    if (channels <= 2) paste(large, 0, average(colours), area, skip);
    else for (const [channel, plane] of colours.entries()) paste(large, channel, plane, area, skip);
    if (channels % 2 === 0)
      paste(large, channels - 1, enlarge(cut(image, channels - 1, bordered), factor), area, skip);
  }
  if (filled !== image) clearTransparent(large);
  return large;
}
