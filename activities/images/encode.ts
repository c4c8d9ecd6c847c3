import sharp from 'sharp';
import { ServiceError } from '../../schemas/errors.ts';
import { type DecodedImage, isTimeout, withTimeout } from './decode.ts';
import type { ImageHeader } from './header.ts';
import type { OutputType } from './imageOutput.ts';
import { tagImage } from './tags.ts';

/** Quality from 0 to 100 that is visually lossless both in libjpeg and in libwebp. */
const QUALITY = 90;
/** Effort of libwebp, from 0 to 6. With its default of 4, lossless encoding of 12 megapixels takes 20 s. */
const WEBP_EFFORT = { lossy: 2, lossless: 0 };

/**
 * Encodes an image with what it says of its colours and of its density, and without other metadata. A WebP is encoded losslessly if the source was
 * lossless.
 *
 * @throws ServiceError deadline_exceeded
 */
export async function encodeImage(
  image: DecodedImage,
  type: OutputType,
  { lossless, halvedChroma }: Pick<ImageHeader, 'lossless' | 'halvedChroma'>,
  deadline: number,
): Promise<Buffer> {
  const { data, width, height, channels, frames, delay, loop } = image;
  const deep = data instanceof Uint16Array;
  const raw = { width, height: height * frames, channels, ...(frames > 1 ? { pageHeight: height } : {}) };
  const grey = channels <= 2;
  const space = grey ? (deep ? 'grey16' : 'b-w') : deep ? 'rgb16' : 'srgb';
  const pipeline = withTimeout(sharp(data, { raw, limitInputPixels: false }).toColourspace(space), deadline);
  if (type === 'png') pipeline.png();
  else if (type === 'jpeg')
    pipeline.jpeg({
      quality: QUALITY,
      // libvips offers nothing between both, so chroma that is halved in one direction only is stored in full.
      chromaSubsampling: halvedChroma ? '4:2:0' : '4:4:4',
      // Optimized Huffman tables make the file 2 % smaller but take three times as long as the rest of the encoding.
      optimiseCoding: false,
    });
  else
    pipeline.webp({
      quality: QUALITY,
      alphaQuality: 100,
      lossless,
      exact: lossless,
      effort: lossless ? WEBP_EFFORT.lossless : WEBP_EFFORT.lossy,
      ...(frames > 1 ? { delay, loop } : {}),
    });
  try {
    return tagImage(type, await pipeline.toBuffer(), image);
  } catch (error) {
    if (isTimeout(error)) throw new ServiceError('deadline_exceeded', { cause: error });
    throw error;
  }
}
