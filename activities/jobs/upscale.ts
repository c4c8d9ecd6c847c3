import { decodeImage } from '../images/decode.ts';
import { decodeBmp } from '../images/decodeBmp.ts';
import { encodeImage } from '../images/encode.ts';
import type { ImageHeader } from '../images/header.ts';
import type { OutputType } from '../images/imageOutput.ts';
import { coarsenessOf } from '../upscale/coarseness.ts';
import { openNetwork } from '../upscale/network.ts';
import type { Factor } from '../upscale/networkTypes.ts';
import { upscale } from '../upscale/upscale.ts';

interface UpscaleJob {
  bytes: Uint8Array;
  header: ImageHeader;
  factor: Factor;
  type: OutputType;
  /** Maximum number of pixels of the source image. */
  maxPixels: number;
  /** Epoch milliseconds. */
  deadline: number;
}

/** Decodes, enlarges and encodes an image. */
export default async function upscaleJob(job: UpscaleJob): Promise<Uint8Array> {
  const { header, factor, type, maxPixels, deadline } = job;
  const bytes = Buffer.from(job.bytes.buffer, job.bytes.byteOffset, job.bytes.length);
  const image =
    header.type === 'bmp'
      ? decodeBmp(bytes, header)
      : await decodeImage(bytes, header, { pixels: maxPixels, deadline });
  const network = await openNetwork(factor);
  const large = await upscale(image, factor, network, { coarseness: coarsenessOf(bytes, header) });
  return encodeImage(large, type, header, deadline);
}
