import sharp from 'sharp';
import type { DecodedImage } from '../../activities/images/decode.ts';
import { coarsenessOf } from '../../activities/upscale/coarseness.ts';
import { enlarge, type Plane } from '../../activities/upscale/lanczos.ts';
import type { Factor, Network } from '../../activities/upscale/networkTypes.ts';
import { upscale } from '../../activities/upscale/upscale.ts';
import { middleOf, pictureOf } from './pictures.ts';
import { type Kernel, reducePicture } from './reducePicture.ts';

/** How the small picture was made: by which kernel, and with which quality of JPEG if any. */
interface Source {
  name: string;
  kernel: Kernel;
  quality: number | null;
}
export const SOURCES: readonly Source[] = [
  { name: 'Lanczos', kernel: 'lanczos', quality: null },
  { name: 'bicubic', kernel: 'bicubic', quality: null },
  { name: 'bilinear', kernel: 'bilinear', quality: null },
  ...[75, 85, 95].map((quality) => ({ name: `JPEG ${quality}`, kernel: 'lanczos' as const, quality })),
];

/** dB by which two enlargements differ that are equal but for the rounding of single samples. */
export const ROUNDING = 0.001;

type Rgb = Pick<DecodedImage, 'data' | 'width' | 'height'>;

/** Returns the luma of a pixel, with the weights of ITU-R BT.601. */
const luma = ({ data }: Rgb, at: number): number =>
  0.299 * (data[at] ?? 0) + 0.587 * (data[at + 1] ?? 0) + 0.114 * (data[at + 2] ?? 0);

function psnr(made: Rgb, wanted: Rgb): number {
  let sum = 0;
  for (let at = 0; at < wanted.data.length; at += 3) sum += (luma(made, at) - luma(wanted, at)) ** 2;
  return 10 * Math.log10(255 ** 2 / (sum / (wanted.data.length / 3)));
}

/** Enlarges a picture by Lanczos alone, rounding as the tool does. */
function enlargePlainly({ data, width, height }: DecodedImage, factor: Factor): Rgb {
  const large = new Uint8ClampedArray(data.length * factor ** 2);
  for (let channel = 0; channel < 3; channel++) {
    const plane: Plane = {
      data: Float32Array.from(data).filter((_, at) => at % 3 === channel),
      width,
      height,
    };
    for (const [at, value] of enlarge(plane, factor).data.entries()) large[3 * at + channel] = value;
  }
  return { data: new Uint8Array(large.buffer), width: width * factor, height: height * factor };
}

/**
 * Reduces the middle of a picture and enlarges it again.
 *
 * @returns luma PSNR of Lanczos, and of the tool above it, in dB
 */
export async function gainOf(
  path: string,
  { factor, side, network, source }: { factor: Factor; side: number; network: Network; source: Source },
): Promise<{ plain: number; gain: number }> {
  const wanted = await pictureOf(await middleOf(path, side, factor));
  const reduced = reducePicture(wanted, factor, source.kernel);
  const { data, width, height } = reduced;
  const { quality } = source;
  const raw = { width, height, channels: 3 } as const;
  const file = quality === null ? null : await sharp(data, { raw }).jpeg({ quality }).toBuffer();
  const small = file === null ? reduced : await pictureOf(file);
  const coarseness = file === null ? 0 : coarsenessOf(file, { type: 'jpeg', lossless: false });
  const plain = psnr(enlargePlainly(small, factor), wanted);
  return { plain, gain: psnr(await upscale(small, factor, network, { coarseness }), wanted) - plain };
}
