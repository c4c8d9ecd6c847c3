import type { Picture } from '../images/decode.ts';
import { enlargeMixed } from './enhance.ts';
import { clearInvisible, fillInvisible } from './invisible.ts';
import { combine, enlarge, type Plane } from './lanczos.ts';
import type { Factor, Network, Planes } from './networkTypes.ts';
import { measureWeight } from './weight.ts';

/** Pixels a side of what is enlarged at once, without its border: more takes memory, less does the border too often. */
const TILE = 384;
/**
 * Pixels around a tile that are computed with it and thrown away. The network looks 10 pixels far, Lanczos 3, and the
 * back-projection applies Lanczos twice more: nothing from beyond reaches the tile, so that tiles show no seams.
 */
const BORDER = 20;

interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Samples of one channel within an area, from 0 to 255. */
function cut({ data, width, channels }: Picture, channel: number, area: Area): Plane {
  const depth = data instanceof Uint16Array ? 257 : 1;
  const part = new Float32Array(area.width * area.height);
  for (let y = 0; y < area.height; y++)
    for (let x = 0; x < area.width; x++)
      part[y * area.width + x] =
        (data[channels * ((area.top + y) * width + area.left + x) + channel] ?? 0) / depth;
  return { data: part, width: area.width, height: area.height };
}

/** Grey is three equal colours to the network. */
function cutColours(picture: Picture, area: Area): Planes {
  const first = cut(picture, 0, area);
  return picture.channels <= 2
    ? [first, first, first]
    : [first, cut(picture, 1, area), cut(picture, 2, area)];
}

/** Puts the part of a plane that starts at `skip` into a channel. */
function paste(
  into: Picture,
  channel: number,
  plane: Plane,
  area: Area,
  skip: { x: number; y: number },
): void {
  const { data, width, channels } = into;
  const depth = data instanceof Uint16Array ? 257 : 1;
  const full = 255 * depth;
  for (let y = 0; y < area.height; y++)
    for (let x = 0; x < area.width; x++) {
      const value = Math.round((plane.data[(y + skip.y) * plane.width + x + skip.x] ?? 0) * depth);
      data[channels * ((area.top + y) * width + area.left + x) + channel] = Math.min(
        full,
        Math.max(0, value),
      );
    }
}

const average = ([a, b, c]: Planes): Plane => combine(1 / 3, combine(1, a, 1, b), 1 / 3, c);

function* tilesOf(picture: Picture, tile: number): Generator<{ core: Area; whole: Area }> {
  for (let top = 0; top < picture.height; top += tile)
    for (let left = 0; left < picture.width; left += tile) {
      const right = Math.min(picture.width, left + tile);
      const bottom = Math.min(picture.height, top + tile);
      const outer = { left: Math.max(0, left - BORDER), top: Math.max(0, top - BORDER) };
      yield {
        core: { left, top, width: right - left, height: bottom - top },
        whole: {
          ...outer,
          width: Math.min(picture.width, right + BORDER) - outer.left,
          height: Math.min(picture.height, bottom + BORDER) - outer.top,
        },
      };
    }
}

/**
 * A picture `factor` times as large: by Lanczos, sharpened by the network as far as that brings this picture nearer to
 * what it shows. Transparency is enlarged apart, by Lanczos; the colours of what is invisible have no part in the others.
 *
 * @param tile pixels a side
 */
export async function upscale(
  picture: Picture,
  factor: Factor,
  network: Network,
  tile = TILE,
): Promise<Picture> {
  const { width, height, channels } = picture;
  const samples = width * height * factor * factor * channels;
  const large: Picture = {
    ...picture,
    data: picture.data instanceof Uint16Array ? new Uint16Array(samples) : new Uint8Array(samples),
    width: width * factor,
    height: height * factor,
  };
  const filled = fillInvisible(picture);
  const weight = await measureWeight(cutColours(filled, { left: 0, top: 0, width, height }), factor, network);
  for (const { core, whole } of tilesOf(picture, tile)) {
    const area = {
      left: core.left * factor,
      top: core.top * factor,
      width: core.width * factor,
      height: core.height * factor,
    };
    const skip = { x: (core.left - whole.left) * factor, y: (core.top - whole.top) * factor };
    const colours = await enlargeMixed(cutColours(filled, whole), factor, network, weight);
    if (channels <= 2) paste(large, 0, average(colours), area, skip);
    else for (const [channel, plane] of colours.entries()) paste(large, channel, plane, area, skip);
    if (channels % 2 === 0)
      paste(large, channels - 1, enlarge(cut(picture, channels - 1, whole), factor), area, skip);
  }
  if (filled !== picture) clearInvisible(large);
  return large;
}
