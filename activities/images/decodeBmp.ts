import { Jimp } from 'jimp';
import { ServiceError } from '../../schemas/errors.ts';
import type { Picture } from './decode.ts';

/** Most BMPs of 32 bits leave the fourth byte empty instead of meaning "transparent". */
function withoutAlpha(rgba: Buffer): Uint8Array {
  const pixels = new Uint8Array((rgba.length / 4) * 3);
  for (let from = 0, to = 0; from < rgba.length; from += 4, to += 3)
    pixels.set(rgba.subarray(from, from + 3), to);
  return pixels;
}

/** Decodes a BMP, its transparency left out: hardly a program writes any. @throws ServiceError corrupt_source */
export async function decodeBmp(bytes: Buffer): Promise<Picture> {
  try {
    const { bitmap } = await Jimp.fromBuffer(bytes);
    return {
      data: withoutAlpha(bitmap.data),
      width: bitmap.width,
      height: bitmap.height,
      channels: 3,
      frames: 1,
      icc: null,
      chromaSubsampling: null,
      delay: [],
      loop: 0,
    };
  } catch (error) {
    throw new ServiceError('corrupt_source', { cause: error });
  }
}
