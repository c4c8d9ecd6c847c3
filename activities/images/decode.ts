import sharp, { type Metadata, type Sharp } from 'sharp';
import { ServiceError } from '../../schemas/errors.ts';
import { type ColourChunk, readColourChunks } from './colour.ts';
import { type Density, readDensity, turnDensity } from './density.ts';
import type { ImageHeader } from './header.ts';
import { orientFrames } from './orient.ts';
import { withoutText } from './pngText.ts';

/** A decoded image in upright orientation, with the properties of the source file that the encoder needs. */
export interface DecodedImage {
  /**
   * Samples in rows from the top; the channels of a pixel (grey, grey and alpha, RGB, or RGBA) follow each other. The
   * frames of an animation are stacked vertically.
   */
  data: Uint8Array | Uint16Array;
  width: number;
  /** Height of one frame. */
  height: number;
  channels: 1 | 2 | 3 | 4;
  frames: number;
  /** Colour profile of the samples; null for sRGB. */
  icc: Buffer | null;
  /** Chunks of a PNG that define its colours, other than a profile; empty for other types. */
  colourChunks: readonly ColourChunk[];
  /** Density of the upright image; null if the source states none. */
  density: Density | null;
  /** Milliseconds per frame of an animation. */
  delay: number[];
  /** How often an animation plays; 0 means forever. */
  loop: number;
}

interface DecodeLimits {
  /**
   * Largest number of pixels in all frames together. libvips enforces this limit too, in case it reads the header
   * differently.
   */
  pixels: number;
  /** Time at which decoding stops, in epoch milliseconds. */
  deadline: number;
}

const PROFILE_SPACES: Readonly<Record<string, string>> = {
  srgb: 'RGB ',
  rgb16: 'RGB ',
  'b-w': 'GRAY',
  grey16: 'GRAY',
};

/** Returns the embedded colour profile if it is for the image's colour space (ICC.1:2022, 7.2.8), else null. */
const matchingProfile = ({ icc, space }: Metadata): Buffer | null =>
  icc !== undefined && icc.toString('latin1', 16, 20) === PROFILE_SPACES[space] ? icc : null;

/** Makes libvips stop at the deadline, so that the process can run another job afterwards. */
export const withTimeout = (image: Sharp, deadline: number): Sharp =>
  image.timeout({ seconds: Math.min(3600, Math.max(1, Math.ceil((deadline - Date.now()) / 1000))) });

export const isTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('timeout:');

const samples16 = (data: Buffer): Uint16Array =>
  new Uint16Array(data.buffer, data.byteOffset, data.length / 2);

/** Converts RGBA pixels that are grey to grey and alpha samples. */
function toGreyAlpha(rgba: Buffer): Uint8Array {
  const pixels = new Uint8Array(rgba.length / 2);
  for (let at = 0; at < pixels.length; at += 2) {
    pixels[at] = rgba[2 * at] ?? 0;
    pixels[at + 1] = rgba[2 * at + 3] ?? 0;
  }
  return pixels;
}

/**
 * Decodes a PNG, JPEG or WebP and applies its EXIF orientation. RGB and greyscale images keep their depth of 8 or 16
 * bits and their colour profile. CMYK images are converted to sRGB according to their profile.
 *
 * @throws ServiceError corrupt_source, deadline_exceeded
 */
export async function decodeImage(
  bytes: Buffer,
  header: ImageHeader,
  { pixels, deadline }: DecodeLimits,
): Promise<DecodedImage> {
  const animated = header.frames > 1;
  const source = header.type === 'png' ? withoutText(bytes) : bytes;
  // With "error", sharp rejects truncated images, but not images with a few stray bytes, which browsers display.
  const options = { animated, failOn: 'error', limitInputPixels: pixels } as const;
  try {
    const metadata = await sharp(source, options).metadata();
    const { space, depth, hasAlpha, delay = [], loop = 0, orientation, exif } = metadata;
    const cmyk = space === 'cmyk';
    const deep = depth === 'ushort';
    let pipeline = sharp(source, { ...options, ignoreIcc: !cmyk });
    if (!animated) pipeline = pipeline.autoOrient();
    // In raw output, sharp drops the alpha channel of greyscale images, so they are decoded as RGBA.
    const greyAlpha = space === 'b-w' && hasAlpha;
    pipeline = pipeline.toColourspace(cmyk || greyAlpha ? 'srgb' : space);
    const { data, info } = await withTimeout(pipeline, deadline)
      .raw({ depth: deep ? 'ushort' : 'uchar' })
      .toBuffer({ resolveWithObject: true });
    const image: DecodedImage = {
      data: deep ? samples16(data) : greyAlpha ? toGreyAlpha(data) : data,
      width: info.width,
      height: info.height / header.frames,
      channels: greyAlpha ? 2 : info.channels,
      frames: header.frames,
      icc: matchingProfile(metadata),
      colourChunks: header.type === 'png' ? readColourChunks(source) : [],
      density: turnDensity(readDensity(header.type, source, exif), orientation),
      delay,
      loop,
    };
    return animated ? { ...image, ...orientFrames(image, orientation ?? 1) } : image;
  } catch (error) {
    if (isTimeout(error)) throw new ServiceError('deadline_exceeded', { cause: error });
    throw new ServiceError('corrupt_source', { cause: error });
  }
}
