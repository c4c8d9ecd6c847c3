import { ServiceError } from '../../schemas/errors.ts';

/** How the pixels of a BMP are stored. */
export interface BmpLayout {
  /** 1, 2, 4 and 8 are indices into the palette. */
  bitsPerPixel: 1 | 2 | 4 | 8 | 16 | 24 | 32;
  runs: boolean;
  topDown: boolean;
  /** Red, green, blue and alpha of a pixel that is no index; 0 for what it has not. */
  masks: readonly [number, number, number, number];
  /** Blue, green and red of each colour, and for most headers a fourth byte. */
  palette: Buffer;
  colourSize: 3 | 4;
  /** From the first pixel on. */
  pixels: Buffer;
  /** The colour profile within; null for none. */
  icc: Buffer | null;
}

const FILE_HEADER = 14;
/** OS/2 1.x: sides of 16 bits, colours of three bytes. */
const CORE_HEADER = 12;
/** The only one that has room for a colour profile. */
const V5_HEADER = 124;
/** Windows' first header, and those that go on with masks and colour spaces. */
const INFO_HEADERS = [40, 52, 56, 108, V5_HEADER];
/** OS/2 2.x: as many of the fields as the program had a use for. */
const OS2_HEADERS = { least: 16, most: 64 };
const MASKS_AT = 54;

const RGB = 0;
const RLE8 = 1;
const RLE4 = 2;
const BITFIELDS = 3;
/** Of Windows CE. */
const ALPHABITFIELDS = 6;

const DEPTHS = [1, 2, 4, 8, 16, 24, 32] as const;
/** What 16 bits are without masks, and what 24 and 32 are: the rest of their bits means nothing. */
const MASKS_16 = [0x7c00, 0x03e0, 0x001f, 0] as const;
const MASKS_32 = [0xff0000, 0x00ff00, 0x0000ff, 0] as const;

const corrupt = () => new ServiceError('corrupt_source');
const unsupported = () =>
  new ServiceError('unsupported_source', { detail: 'The pixels of the BMP are coded in a rare way.' });

/** A header whose fields end early has zeros for the others. */
function readFields(bytes: Buffer, headerSize: number) {
  if (headerSize === CORE_HEADER)
    return { height: 0, bits: bytes.readUInt16LE(24), compression: RGB, used: 0 };
  const fields = Buffer.alloc(40);
  bytes.copy(fields, 0, FILE_HEADER, FILE_HEADER + Math.min(40, headerSize));
  return {
    height: fields.readInt32LE(8),
    bits: fields.readUInt16LE(14),
    compression: fields.readUInt32LE(16),
    used: fields.readUInt32LE(32),
  };
}

function readMasks(bytes: Buffer, bits: number, masked: boolean, alpha: boolean): BmpLayout['masks'] {
  if (!masked) return bits === 16 ? MASKS_16 : MASKS_32;
  const mask = (index: number) => bytes.readUInt32LE(MASKS_AT + 4 * index);
  return [mask(0), mask(1), mask(2), alpha ? mask(3) : 0];
}

/** A profile that is a file beside the picture is not looked for. */
function readProfile(bytes: Buffer, headerSize: number): Buffer | null {
  if (headerSize !== V5_HEADER || bytes.toString('latin1', 70, 74) !== 'DEBM') return null;
  const at = FILE_HEADER + bytes.readUInt32LE(126);
  const profile = bytes.subarray(at, at + bytes.readUInt32LE(130));
  return profile.toString('latin1', 16, 20) === 'RGB ' ? profile : null;
}

/**
 * The headers and the palette of a BMP: OS/2 1.x and 2.x, Windows from 3.0 on ("Bitmap Header Types" of the Windows GDI;
 * "Bitmap File Format" of the OS/2 Presentation Manager).
 *
 * @throws ServiceError corrupt_source; unsupported_source for a JPEG or PNG within, 64 bits, Huffman coding and other rarities
 */
export function readBmpLayout(bytes: Buffer): BmpLayout {
  const headerSize = bytes.readUInt32LE(FILE_HEADER);
  const windows = INFO_HEADERS.includes(headerSize);
  const os2 = headerSize >= OS2_HEADERS.least && headerSize <= OS2_HEADERS.most && !windows;
  if (!windows && !os2 && headerSize !== CORE_HEADER) throw corrupt();
  const headerEnd = FILE_HEADER + headerSize;
  if (bytes.length < headerEnd) throw corrupt();

  const { height, bits, compression, used } = readFields(bytes, headerSize);
  const runs = compression === RLE8 || compression === RLE4;
  // In OS/2 the number of BITFIELDS stands for Huffman coding.
  const masked = windows && (compression === BITFIELDS || compression === ALPHABITFIELDS);
  if ((compression !== RGB && !runs && !masked) || bits === 64) throw unsupported();
  const bitsPerPixel = DEPTHS.find((depth) => depth === bits);
  if (
    bitsPerPixel === undefined ||
    (runs && bits !== (compression === RLE8 ? 8 : 4)) ||
    (masked && bits !== 16 && bits !== 32)
  )
    throw corrupt();

  // Behind the oldest header the masks follow, in the others they are a part of it.
  const masksEnd = masked ? MASKS_AT + (compression === ALPHABITFIELDS ? 16 : 12) : 0;
  const paletteAt = Math.max(headerEnd, masksEnd);
  if (bytes.length < paletteAt) throw corrupt();
  const alpha = compression === ALPHABITFIELDS || headerSize >= 56;
  const colourSize = headerSize === CORE_HEADER ? 3 : 4;
  const indexed = bits <= 8;
  // The number may be zero for "all", and is at times far too large.
  const colours = indexed ? Math.min(used || 2 ** bits, 2 ** bits) : 0;
  const declared = bytes.readUInt32LE(10);
  const sound = declared >= paletteAt + (indexed ? colourSize : 0) && declared < bytes.length;
  const pixelsAt = sound ? declared : paletteAt + (used || colours) * colourSize;
  return {
    bitsPerPixel,
    runs,
    topDown: height < 0,
    masks: readMasks(bytes, bits, masked, alpha),
    palette: bytes.subarray(paletteAt, Math.min(pixelsAt, paletteAt + colours * colourSize)),
    colourSize,
    pixels: bytes.subarray(pixelsAt),
    icc: readProfile(bytes, headerSize),
  };
}
