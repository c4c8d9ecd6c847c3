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
}

type Size = Omit<ImageHeader, 'type'>;

const still = (width: number, height: number, lossless: boolean): Size => ({
  width,
  height,
  frames: 1,
  animatedPng: false,
  lossless,
});

/** Reads the size of a PNG from IHDR, its first chunk (ISO/IEC 15948). */
const readPng = (bytes: Buffer): Size | null =>
  bytes.length >= 24 && bytes.toString('latin1', 12, 16) === 'IHDR'
    ? {
        ...still(bytes.readUInt32BE(16), bytes.readUInt32BE(20), true),
        animatedPng: isAnimatedPng(bytes),
      }
    : null;

/** Whether an acTL chunk before the first IDAT declares several frames (PNG, Third Edition, 11.3.4.1). */
function isAnimatedPng(bytes: Buffer): boolean {
  // A PNG file consists of a signature of 8 bytes and of chunks, each with a length, a type, data and a checksum.
  for (let at = 8; at + 12 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const kind = bytes.toString('latin1', at + 4, at + 8);
    if (kind === 'IDAT') return false;
    if (kind === 'acTL') return bytes.readUInt32BE(at + 8) > 1;
  }
  return false;
}

/** Reads the size of a JPEG: walks its markers up to the first frame header (ITU-T T.81, B.1). */
function readJpeg(bytes: Buffer): Size | null {
  // Markers within the range of frame headers that are not frame headers: DHT, JPG and DAC.
  const notFrames = [0xc4, 0xc8, 0xcc];
  for (let at = 2; at + 9 <= bytes.length; ) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes.readUInt8(at + 1);
    const hasNoLength = marker === 0xff || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    if (!hasNoLength) {
      if (marker >= 0xc0 && marker <= 0xcf && !notFrames.includes(marker))
        return still(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5), false);
      at += bytes.readUInt16BE(at + 2);
    }
    at += marker === 0xff ? 1 : 2;
  }
  return null;
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
