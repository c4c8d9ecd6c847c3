import { ServiceError } from '../../schemas/errors.ts';
import { jpegSegments } from './jpegSegments.ts';
import { pngChunks, pngHead } from './pngChunks.ts';

/** Properties of an image, read without decoding it. */
export interface ImageHeader {
  type: 'png' | 'jpeg' | 'webp' | 'bmp';
  /** Width of the stored image in pixels, before its EXIF orientation is applied. */
  width: number;
  height: number;
  /** Number of frames; more than one for an animated WebP. */
  frames: number;
  /** Whether the image is an animated PNG. Only its default image is decoded, so `frames` is 1. */
  animatedPng: boolean;
  /** Whether the image is compressed without loss; always true for PNG and BMP. */
  lossless: boolean;
  /** Whether the chroma of a JPEG has at most half the resolution of the luma in both directions, as 4:2:0. */
  halvedChroma: boolean;
}

type Size = Omit<ImageHeader, 'type'>;

const still = (width: number, height: number, lossless: boolean): Size => ({
  width,
  height,
  frames: 1,
  animatedPng: false,
  lossless,
  halvedChroma: false,
});

/**
 * Reads the size of a PNG from IHDR, its first chunk (ISO/IEC 15948). Xcode writes another chunk before it, and image data
 * that PNG readers cannot decompress.
 */
function readPng(bytes: Buffer): Size | null {
  const first = bytes.toString('latin1', 12, 16);
  if (first === 'CgBI')
    throw new ServiceError('unsupported_source', {
      detail:
        'The file is a PNG that was converted for iOS (CgBI), which is no longer a PNG. Use the original.',
    });
  if (first !== 'IHDR' || bytes.length < 24) return null;
  const size = still(bytes.readUInt32BE(16), bytes.readUInt32BE(20), true);
  return { ...size, animatedPng: isAnimatedPng(bytes) };
}

/**
 * Whether an acTL chunk before the first IDAT declares several frames, or one that is not the default image (PNG, Third Edition,
 * 11.3.4).
 */
function isAnimatedPng(bytes: Buffer): boolean {
  for (const { type, data } of pngHead(bytes))
    if (type === 'acTL' && data.length >= 4)
      return data.readUInt32BE(0) > 1 || [...pngChunks(bytes)].some((chunk) => chunk.type === 'fdAT');
  return false;
}

/** Markers within the range of frame headers that are not frame headers: DHT, JPG and DAC. */
const NOT_FRAMES = [0xc4, 0xc8, 0xcc];
/** Frame headers of baseline, extended and progressive JPEGs with Huffman coding, which all readers know. */
const COMMON_FRAMES = [0xc0, 0xc1, 0xc2];

/** Reads the size and the subsampling of a JPEG from its first frame header (ITU-T T.81, B.2.2). */
function readJpeg(bytes: Buffer): Size | null {
  for (const { marker, data } of jpegSegments(bytes)) {
    if (marker < 0xc0 || marker > 0xcf || NOT_FRAMES.includes(marker)) continue;
    if (data.length < 6) return null;
    const bits = data.readUInt8(0);
    if (bits !== 8 || !COMMON_FRAMES.includes(marker))
      throw new ServiceError('unsupported_source', {
        detail:
          bits === 8
            ? 'The JPEG is lossless, hierarchical or arithmetic-coded, which few programs read.'
            : `The JPEG has ${bits} bits per sample; only 8 are supported.`,
      });
    const size = still(data.readUInt16BE(3), data.readUInt16BE(1), false);
    return { ...size, halvedChroma: hasHalvedChroma(data) };
  }
  return null;
}

/** Compares the sampling factors of the first component, luma, with those of the second and third, chroma. */
function hasHalvedChroma(frame: Buffer): boolean {
  if (frame.readUInt8(5) < 3 || frame.length < 15) return false;
  const [luma = 0, ...chroma] = [7, 10, 13].map((at) => frame.readUInt8(at));
  const isHalf = (of: (factors: number) => number) => chroma.every((it) => of(luma) >= 2 * of(it));
  return isHalf((factors) => factors >> 4) && isHalf((factors) => factors & 15);
}

/**
 * Reads the size of a WebP from its RIFF chunks (RFC 9649): VP8X contains the canvas size, VP8 and VP8L the image size.
 */
function readWebp(bytes: Buffer): Size | null {
  let size: Size | null = null;
  for (let at = 12; at + 18 <= bytes.length; ) {
    const kind = bytes.toString('latin1', at, at + 4);
    const data = at + 8;
    if (kind === 'VP8X' && bytes.length >= data + 10)
      size = still(bytes.readUIntLE(data + 4, 3) + 1, bytes.readUIntLE(data + 7, 3) + 1, false);
    else if (kind === 'VP8 ')
      return (
        size ?? still(bytes.readUInt16LE(data + 6) & 0x3fff, bytes.readUInt16LE(data + 8) & 0x3fff, false)
      );
    else if (kind === 'VP8L') {
      const packed = bytes.readUInt32LE(data + 1);
      return {
        ...(size ?? still((packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1, true)),
        lossless: true,
      };
    } else if (kind === 'ANMF') {
      if (size === null) return null;
      return readFrames(bytes, at, size);
    }
    at = data + paddedLength(bytes.readUInt32LE(at + 4));
  }
  return null;
}

/** Returns the length of a RIFF chunk with its padding: chunks of odd length are padded to an even length. */
const paddedLength = (length: number): number => length + (length % 2);

/**
 * Counts the frames of an animated WebP. The image counts as lossless if its first frame is.
 *
 * @param at offset of the first frame
 */
function readFrames(bytes: Buffer, at: number, size: Size): Size {
  const lossless = bytes.toString('latin1', at + 24, at + 28) === 'VP8L';
  let frames = 0;
  for (let next = at; next + 8 <= bytes.length; next += 8 + paddedLength(bytes.readUInt32LE(next + 4)))
    if (bytes.toString('latin1', next, next + 4) === 'ANMF') frames++;
  return { ...size, frames, lossless };
}

/**
 * Reads the size of a BMP from its OS/2 or Windows header. The height is negative if rows are stored from top to
 * bottom.
 */
function readBmp(bytes: Buffer): Size | null {
  if (bytes.length < 26) return null;
  return bytes.readUInt32LE(14) === 12
    ? still(bytes.readUInt16LE(18), bytes.readUInt16LE(20), true)
    : still(bytes.readInt32LE(18), Math.abs(bytes.readInt32LE(22)), true);
}

const FORMATS = [
  { type: 'png', is: (start: string) => start.startsWith('\x89PNG\r\n\x1a\n'), read: readPng },
  { type: 'jpeg', is: (start: string) => start.startsWith('\xff\xd8\xff'), read: readJpeg },
  { type: 'webp', is: (start: string) => /^RIFF[\s\S]{4}WEBP/.test(start), read: readWebp },
  { type: 'bmp', is: (start: string) => start.startsWith('BM'), read: readBmp },
] as const;

/**
 * Detects the type of an image and reads its header.
 *
 * @returns null for files of other types; `header` is null when the header is damaged
 */
export function readImageHeader(
  bytes: Buffer,
): { type: ImageHeader['type']; header: ImageHeader | null } | null {
  const start = bytes.toString('latin1', 0, 16);
  const format = FORMATS.find(({ is }) => is(start));
  if (format === undefined) return null;
  const size = format.read(bytes);
  const valid = size !== null && size.width > 0 && size.height > 0 && size.frames > 0;
  return { type: format.type, header: valid ? { type: format.type, ...size } : null };
}
