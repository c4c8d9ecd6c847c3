import sharp from 'sharp';
import { ServiceError } from '../../schemas/errors.ts';
import { isTimeout, type Picture, withTimeout } from './decode.ts';
import type { ImageHeader } from './header.ts';
import type { OutputType } from './imageOutput.ts';
import { embedProfile } from './profile.ts';

/** Visually lossless for both (libjpeg's and libwebp's scales). */
const QUALITY = 90;
/** Of 0 to 6; 4 is libwebp's default, which takes 20 s for 12 MPx without loss. */
const WEBP_EFFORT = { lossy: 2, lossless: 0 };

/**
 * Encodes a picture without any metadata but its colour profile. A WebP is lossless where its source was.
 *
 * @throws ServiceError deadline_exceeded
 */
export async function encodeImage(
  picture: Picture,
  type: OutputType,
  { lossless }: Pick<ImageHeader, 'lossless'>,
  deadline: number,
): Promise<Buffer> {
  const { data, width, height, channels, frames, icc, delay, loop } = picture;
  const deep = data instanceof Uint16Array;
  const raw = { width, height: height * frames, channels, ...(frames > 1 ? { pageHeight: height } : {}) };
  const grey = channels <= 2;
  const space = grey ? (deep ? 'grey16' : 'b-w') : deep ? 'rgb16' : 'srgb';
  const image = withTimeout(sharp(data, { raw, limitInputPixels: false }).toColourspace(space), deadline);
  if (type === 'png') image.png();
  else if (type === 'jpeg')
    image.jpeg({
      quality: QUALITY,
      chromaSubsampling: picture.chromaSubsampling?.startsWith('4:4:4') ? '4:4:4' : '4:2:0',
      // Huffman tables made for the picture save 2 % of the file and take three times as long as all the rest.
      optimiseCoding: false,
    });
  else
    image.webp({
      quality: QUALITY,
      alphaQuality: 100,
      lossless,
      exact: lossless,
      effort: lossless ? WEBP_EFFORT.lossless : WEBP_EFFORT.lossy,
      ...(frames > 1 ? { delay, loop } : {}),
    });
  try {
    const bytes = await image.toBuffer();
    return icc === null ? bytes : embedProfile(type, bytes, icc, picture);
  } catch (error) {
    if (isTimeout(error)) throw new ServiceError('deadline_exceeded', { cause: error });
    throw error;
  }
}
