import { globSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import type { DecodedImage } from '../../activities/images/decode.ts';
import { scikitImage } from '../provision/items/scikitImage.ts';

/** Files of scikit-image that are not compared: a test chart of a few pixels, and an image that belongs to another one. */
const LEFT_OUT = /chessboard|microaneurysms/;
/** Returns the paths of files in a folder that match one of the patterns. */
export const find = (folder: string, patterns: readonly string[]): string[] =>
  globSync([...patterns], { cwd: folder })
    .sort()
    .map((path) => join(folder, path));

/** Returns the paths of the photographs and drawings of scikit-image, on which the network was judged. */
export const judgingSet = async (): Promise<string[]> =>
  find(join(await scikitImage.get(console.error), 'skimage/data'), ['*.png', '*.jpg']).filter(
    (path) => !LEFT_OUT.test(path),
  );

export async function pictureOf(bytes: Buffer): Promise<DecodedImage> {
  const { data, info } = await sharp(bytes)
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { ...info, data, frames: 1, icc: null, colourChunks: [], density: null, delay: [], loop: 0 };
}

/** Crops the middle of a picture, with sides of at most `side` pixels that are multiples of `factor`. */
export async function middleOf(path: string, side: number, factor: number): Promise<Buffer> {
  const { width, height } = await sharp(path).metadata();
  const cut = (length: number) => Math.min(length, side) - (Math.min(length, side) % factor);
  const size = { width: cut(width), height: cut(height) };
  const area = { left: (width - size.width) >> 1, top: (height - size.height) >> 1, ...size };
  return sharp(path).extract(area).png().toBuffer();
}
