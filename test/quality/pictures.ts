import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { DecodedImage } from '../../activities/images/decode.ts';

const SKIMAGE = 'scikit-image==0.26.0';
/** Files that are not compared: a test chart of a few pixels, and an image that belongs to another one. */
const LEFT_OUT = /chessboard|microaneurysms/;
const LIMITS = { timeout: 600_000 };

export interface Pictures extends Disposable {
  /** Paths of photographs and drawings. */
  paths: string[];
}

/** Downloads the pictures of scikit-image from PyPI. */
export function fetchPictures(): Pictures {
  const folder = mkdtempSync(join(tmpdir(), 'quality-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const download = ['download', '-q', '--no-deps', '--only-binary=:all:', '-d', folder, SKIMAGE];
    execFileSync('pip3', download, LIMITS);
    for (const wheel of readdirSync(folder))
      execFileSync('python3', ['-m', 'zipfile', '-e', join(folder, wheel), folder]);
    const data = join(folder, 'skimage/data');
    return {
      paths: readdirSync(data)
        .filter((name) => /\.(png|jpg)$/.test(name) && !LEFT_OUT.test(name))
        .map((name) => join(data, name)),
      [Symbol.dispose]: remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

export async function pictureOf(bytes: Buffer): Promise<DecodedImage> {
  const { data, info } = await sharp(bytes)
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { ...info, data, frames: 1, icc: null, chromaSubsampling: null, delay: [], loop: 0 };
}

/** Crops the middle of a picture, with sides of at most `side` pixels that are multiples of `factor`. */
export async function middleOf(path: string, side: number, factor: number): Promise<Buffer> {
  const { width, height } = await sharp(path).metadata();
  const cut = (length: number) => Math.min(length, side) - (Math.min(length, side) % factor);
  const size = { width: cut(width), height: cut(height) };
  const area = { left: (width - size.width) >> 1, top: (height - size.height) >> 1, ...size };
  return sharp(path).extract(area).png().toBuffer();
}
