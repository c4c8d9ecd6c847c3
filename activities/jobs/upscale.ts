import { ServiceError } from '../../schemas/errors.ts';
import type { OutputType } from '../images/answer.ts';
import { type DecodeLimits, decodeImage, type Picture } from '../images/decode.ts';
import { encodeImage } from '../images/encode.ts';
import type { ImageHeader } from '../images/header.ts';
import type { Stop } from '../stopping.ts';
import { type Factor, openNetwork } from '../upscale/network.ts';
import { upscale } from '../upscale/upscale.ts';

export interface UpscaleJob {
  bytes: Uint8Array;
  header: ImageHeader;
  factor: Factor;
  type: OutputType;
  /** Of the source. */
  maxPixels: number;
  /** Epoch milliseconds. */
  deadline: number;
}

/** Decodes, enlarges and encodes. Asked to stop, it does no other tile. */
export default async function upscaleJob(job: UpscaleJob, stop: Stop): Promise<Uint8Array> {
  const { header, factor, type, maxPixels, deadline } = job;
  const bytes = Buffer.from(job.bytes.buffer, job.bytes.byteOffset, job.bytes.length);
  const picture = await decode(bytes, header, { pixels: maxPixels, deadline });
  const network = await openNetwork(factor);
  const large = await upscale(picture, factor, {
    run(planes) {
      if (stop.asked) throw new ServiceError('deadline_exceeded');
      return network.run(planes);
    },
  });
  return encodeImage(large, type, header, deadline);
}

async function decode(bytes: Buffer, header: ImageHeader, limits: DecodeLimits): Promise<Picture> {
  if (header.type !== 'bmp') return decodeImage(bytes, header, limits);
  // jimp takes long to load, and BMPs are rare.
  const { decodeBmp } = await import('../images/decodeBmp.ts');
  return decodeBmp(bytes);
}
