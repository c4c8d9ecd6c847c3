import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { DecodedImage } from '../../activities/images/decode.ts';

const SKIMAGE = 'scikit-image==0.26.0';
/** Test charts of a few pixels, and what is no picture of its own. */
const LEFT_OUT = /chessboard|microaneurysms/;
const LIMITS = { timeout: 600_000 };

/** Networks of UpscalerJS, from the smallest. */
export const MODELS = ['slim', 'medium', 'thick'] as const;
export type Model = (typeof MODELS)[number];

export interface Collection extends Disposable {
  /** Photographs and drawings: paths. */
  pictures: string[];
  /** Where a network's model.json is. */
  modelPath(model: Model, factor: number): string;
}

/** Fetches what scikit-image ships, and all networks, from their registries. */
export function fetchCollection(): Collection {
  const folder = mkdtempSync(join(tmpdir(), 'quality-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const download = ['download', '-q', '--no-deps', '--only-binary=:all:', '-d', folder, SKIMAGE];
    execFileSync('pip3', download, LIMITS);
    for (const wheel of readdirSync(folder))
      execFileSync('python3', ['-m', 'zipfile', '-e', join(folder, wheel), folder]);
    const data = join(folder, 'skimage/data');
    for (const model of MODELS) {
      const packed = `@upscalerjs/esrgan-${model}@1.0.0`;
      execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, packed], {
        ...LIMITS,
        stdio: 'ignore',
      });
      mkdirSync(join(folder, model));
      execFileSync('tar', [
        ...['-xzf', join(folder, `upscalerjs-esrgan-${model}-1.0.0.tgz`)],
        ...['-C', join(folder, model)],
      ]);
    }
    return {
      pictures: readdirSync(data)
        .filter((name) => /\.(png|jpg)$/.test(name) && !LEFT_OUT.test(name))
        .map((name) => join(data, name)),
      modelPath: (model, factor) => join(folder, model, 'package/models', `x${factor}`, 'model.json'),
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

/** The middle of a picture, of sides up to `side` that divide by `factor`. */
export async function middleOf(path: string, side: number, factor: number): Promise<Buffer> {
  const { width, height } = await sharp(path).metadata();
  const cut = (length: number) => Math.min(length, side) - (Math.min(length, side) % factor);
  const size = { width: cut(width), height: cut(height) };
  const area = { left: (width - size.width) >> 1, top: (height - size.height) >> 1, ...size };
  return sharp(path).extract(area).png().toBuffer();
}
