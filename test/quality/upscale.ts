import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { Picture } from '../../activities/images/decode.ts';
import { enlarge } from '../../activities/upscale/lanczos.ts';
import { FACTORS, openNetwork } from '../../activities/upscale/network.ts';
import { upscale } from '../../activities/upscale/upscale.ts';

/**
 * Luma PSNR of image-upscale beside Lanczos alone, on the photographs and drawings that scikit-image ships: each is cut to
 * 512 pixels a side, reduced in three ways, and enlarged again. Exits with 1 where Lanczos is better anywhere.
 */

const KERNELS = ['lanczos3', 'cubic', 'linear'] as const;
const SIDE = 512;
/** Test charts of a few pixels, and what is no picture of its own. */
const LEFT_OUT = /chessboard|microaneurysms/;

type Rgb = Pick<Picture, 'data' | 'width' | 'height'>;

/** ITU-R BT.601. */
const luma = ({ data }: Rgb, at: number): number =>
  0.299 * (data[at] ?? 0) + 0.587 * (data[at + 1] ?? 0) + 0.114 * (data[at + 2] ?? 0);

function psnr(made: Rgb, wanted: Rgb): number {
  let sum = 0;
  for (let at = 0; at < wanted.data.length; at += 3) sum += (luma(made, at) - luma(wanted, at)) ** 2;
  return 10 * Math.log10(255 ** 2 / (sum / (wanted.data.length / 3)));
}

async function pictureOf(bytes: Buffer): Promise<Picture> {
  const { data, info } = await sharp(bytes)
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { ...info, data, frames: 1, icc: null, chromaSubsampling: null, delay: [], loop: 0 };
}

function byLanczos({ data, width, height }: Picture, factor: number): Rgb {
  const large = new Uint8ClampedArray(data.length * factor * factor);
  for (const channel of [0, 1, 2]) {
    const plane = { data: Float32Array.from(data).filter((_, at) => at % 3 === channel), width, height };
    for (const [at, value] of enlarge(plane, factor).data.entries()) large[3 * at + channel] = value;
  }
  return { data: new Uint8Array(large.buffer), width: width * factor, height: height * factor };
}

const folder = mkdtempSync(join(tmpdir(), 'pictures-'));
try {
  execFileSync('pip', ['download', '-q', '--no-deps', '--only-binary=:all:', '-d', folder, 'scikit-image'], {
    timeout: 300_000,
  });
  for (const wheel of readdirSync(folder))
    execFileSync('python3', ['-m', 'zipfile', '-e', join(folder, wheel), folder]);
  const data = join(folder, 'skimage/data');
  const names = readdirSync(data).filter((name) => /\.(png|jpg)$/.test(name) && !LEFT_OUT.test(name));
  let worse = 0;
  for (const factor of FACTORS) {
    const network = await openNetwork(factor);
    const rows: Record<string, Record<string, string>> = {};
    for (const name of names) {
      const { width, height } = await sharp(join(data, name)).metadata();
      const cut = { width: Math.min(width, SIDE), height: Math.min(height, SIDE) };
      const area = { left: (width - cut.width) >> 1, top: (height - cut.height) >> 1 };
      const size = { width: cut.width - (cut.width % factor), height: cut.height - (cut.height % factor) };
      const original = await sharp(join(data, name))
        .extract({ ...area, ...size })
        .png()
        .toBuffer();
      const wanted = await pictureOf(original);
      rows[name] = {};
      for (const kernel of KERNELS) {
        const reduced = sharp(original).resize(size.width / factor, size.height / factor, { kernel });
        const small = await pictureOf(await reduced.png().toBuffer());
        const plain = psnr(byLanczos(small, factor), wanted);
        const made = psnr(await upscale(small, factor, network), wanted);
        if (made < plain) worse++;
        rows[name][kernel] = `${made.toFixed(2)} (${made < plain ? '' : '+'}${(made - plain).toFixed(3)})`;
      }
    }
    console.log(`${factor}x: luma PSNR in dB, and how much that is above Lanczos, by the way it was reduced`);
    console.table(rows);
  }
  console.log(`worse than Lanczos: ${worse}`);
  process.exitCode = worse === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
