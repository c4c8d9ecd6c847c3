import sharp, { type Metadata, type Sharp } from 'sharp';
import { ServiceError } from '../../schemas/errors.ts';
import type { ImageHeader } from './header.ts';
import { withoutText } from './pngText.ts';

/** A decoded picture, upright, and what its encoder is to know of the source. */
export interface Picture {
  /** Rows from the top, channels interleaved: grey, grey and alpha, RGB or RGBA; frames one below the other. */
  data: Uint8Array | Uint16Array;
  width: number;
  /** Of one frame. */
  height: number;
  channels: 1 | 2 | 3 | 4;
  frames: number;
  /** The colour profile that the samples are in; null for sRGB. */
  icc: Buffer | null;
  /** Of a JPEG: "4:2:0", "4:4:4" … */
  chromaSubsampling: string | null;
  /** Of an animation: milliseconds a frame, and how often it plays (0 for ever). */
  delay: number[];
  loop: number;
}

export interface DecodeLimits {
  /** Of all frames together. libvips refuses more as well, should its reading of the header differ from ours. */
  pixels: number;
  /** Epoch milliseconds. */
  deadline: number;
}

const PROFILE_SPACES: Readonly<Record<string, string>> = {
  srgb: 'RGB ',
  rgb16: 'RGB ',
  'b-w': 'GRAY',
  grey16: 'GRAY',
};

/** The profile, when it describes samples of the kind that the picture has (ICC.1:2022, 7.2.8). */
const fittingProfile = ({ icc, space }: Metadata): Buffer | null =>
  icc !== undefined && icc.toString('latin1', 16, 20) === PROFILE_SPACES[space] ? icc : null;

/** libvips ends work that is late, so that the process can be used again. */
export const withTimeout = (image: Sharp, deadline: number): Sharp =>
  image.timeout({ seconds: Math.min(3600, Math.max(1, Math.ceil((deadline - Date.now()) / 1000))) });

export const isTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('timeout:');

const samples16 = (data: Buffer): Uint16Array =>
  new Uint16Array(data.buffer, data.byteOffset, data.length / 2);

/** Grey and alpha of pixels that are grey in RGBA. */
function withoutColour(rgba: Buffer): Uint8Array {
  const pixels = new Uint8Array(rgba.length / 2);
  for (let at = 0; at < pixels.length; at += 2) {
    pixels[at] = rgba[2 * at] ?? 0;
    pixels[at + 1] = rgba[2 * at + 3] ?? 0;
  }
  return pixels;
}

/**
 * Decodes a PNG, JPEG or WebP and turns it upright as its EXIF orientation says. RGB and greyscale keep their depth of 8
 * or 16 bits and their colour profile; CMYK becomes sRGB by its profile.
 *
 * @throws ServiceError corrupt_source, deadline_exceeded
 */
export async function decodeImage(
  bytes: Buffer,
  header: ImageHeader,
  { pixels, deadline }: DecodeLimits,
): Promise<Picture> {
  const animated = header.frames > 1;
  const source = header.type === 'png' ? withoutText(bytes) : bytes;
  // "error": a photograph that ends early is refused, one with a few stray bytes, which browsers show, is not.
  const options = { animated, failOn: 'error', limitInputPixels: pixels } as const;
  try {
    const metadata = await sharp(source, options).metadata();
    const { space, depth, hasAlpha, delay = [], loop = 0, chromaSubsampling = null } = metadata;
    const cmyk = space === 'cmyk';
    const deep = depth === 'ushort';
    let image = sharp(source, { ...options, ignoreIcc: !cmyk });
    if (!animated) image = image.autoOrient();
    // sharp leaves the alpha of grey pixels out when it hands them over as they are.
    const greyAlpha = space === 'b-w' && hasAlpha;
    image = image.toColourspace(cmyk || greyAlpha ? 'srgb' : space);
    const { data, info } = await withTimeout(image, deadline)
      .raw({ depth: deep ? 'ushort' : 'uchar' })
      .toBuffer({ resolveWithObject: true });
    return {
      data: deep ? samples16(data) : greyAlpha ? withoutColour(data) : data,
      width: info.width,
      height: info.height / header.frames,
      channels: greyAlpha ? 2 : info.channels,
      frames: header.frames,
      icc: fittingProfile(metadata),
      chromaSubsampling,
      delay,
      loop,
    };
  } catch (error) {
    if (isTimeout(error)) throw new ServiceError('deadline_exceeded', { cause: error });
    throw new ServiceError('corrupt_source', { cause: error });
  }
}
