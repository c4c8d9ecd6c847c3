import { ServiceError } from '../../schemas/errors.ts';

/** How the pixels of a BMP are stored. */
export interface BmpLayout {
  /** Number of bits per pixel. Pixels of 1, 2, 4 and 8 bits are palette indices. */
  bitsPerPixel: 1 | 2 | 4 | 8 | 16 | 24 | 32;
  runLengthEncoded: boolean;
  topDown: boolean;
  /** Bit masks of red, green, blue and alpha in a pixel, if the BMP has no palette; 0 for a missing channel. */
  masks: readonly [number, number, number, number];
  /** Blue, green and red of each palette colour, followed by an unused byte if `colourSize` is 4. */
  palette: Buffer;
  colourSize: 3 | 4;
  /** The bytes of the file from the first pixel on. */
  pixels: Buffer;
  /** Embedded colour profile; null if the file contains none. */
  icc: Buffer | null;
}

const FILE_HEADER = 14;
/**
 * Size in bytes of the OS/2 1.x header (BITMAPCOREHEADER), which has a 16-bit width and height and 3-byte palette
 * colours.
 */
const CORE_HEADER = 12;
/** Size in bytes of BITMAPV5HEADER, the only header that can contain a colour profile. */
const V5_HEADER = 124;
/** Sizes in bytes of the Windows headers: BITMAPINFOHEADER, and its later versions with masks and colour spaces. */
const INFO_HEADERS = [40, 52, 56, 108, V5_HEADER];
/** Range of sizes in bytes of the OS/2 2.x header, which may omit fields at its end. */
const OS2_HEADERS = { min: 16, max: 64 };
const MASKS_AT = 54;

const RGB = 0;
const RLE8 = 1;
const RLE4 = 2;
const BITFIELDS = 3;
/** Bit masks with an alpha mask; used only by Windows CE. */
const ALPHABITFIELDS = 6;

const DEPTHS = [1, 2, 4, 8, 16, 24, 32] as const;
/**
 * Masks for 16-bit pixels in a file without masks, and the same for 24-bit and 32-bit pixels. Other bits are unused.
 */
const MASKS_16 = [0x7c00, 0x03e0, 0x001f, 0] as const;
const MASKS_32 = [0xff0000, 0x00ff00, 0x0000ff, 0] as const;

const corrupt = () => new ServiceError('corrupt_source');
const unsupported = () =>
  new ServiceError('unsupported_source', { detail: 'The BMP uses an unsupported pixel encoding.' });

/** Reads fields of the header. Fields that a short header omits are zero. */
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

/**
 * Reads the embedded colour profile; null if there is none. Profiles that are linked as a separate file are ignored.
 */
function readProfile(bytes: Buffer, headerSize: number): Buffer | null {
  if (headerSize !== V5_HEADER || bytes.toString('latin1', 70, 74) !== 'DEBM') return null;
  const at = FILE_HEADER + bytes.readUInt32LE(126);
  const profile = bytes.subarray(at, at + bytes.readUInt32LE(130));
  return profile.toString('latin1', 16, 20) === 'RGB ' ? profile : null;
}

/**
 * Reads the headers and the palette of a BMP of OS/2 1.x, OS/2 2.x or Windows 3.0 and later ("Bitmap Header Types" in
 * the documentation of the Windows GDI; "Bitmap File Format" in that of the OS/2 Presentation Manager).
 *
 * @throws ServiceError corrupt_source; unsupported_source for embedded JPEG or PNG, 64-bit pixels and Huffman coding
 */
export function readBmpLayout(bytes: Buffer): BmpLayout {
  const headerSize = bytes.readUInt32LE(FILE_HEADER);
  const windows = INFO_HEADERS.includes(headerSize);
  const os2 = headerSize >= OS2_HEADERS.min && headerSize <= OS2_HEADERS.max && !windows;
  if (!windows && !os2 && headerSize !== CORE_HEADER) throw corrupt();
  const headerEnd = FILE_HEADER + headerSize;
  if (bytes.length < headerEnd) throw corrupt();

  const { height, bits, compression, used } = readFields(bytes, headerSize);
  const runLengthEncoded = compression === RLE8 || compression === RLE4;
  // In OS/2 headers the value of BITFIELDS means Huffman coding, which is not supported.
  const masked = windows && (compression === BITFIELDS || compression === ALPHABITFIELDS);
  if ((compression !== RGB && !runLengthEncoded && !masked) || bits === 64) throw unsupported();
  const bitsPerPixel = DEPTHS.find((depth) => depth === bits);
  if (
    bitsPerPixel === undefined ||
    (runLengthEncoded && bits !== (compression === RLE8 ? 8 : 4)) ||
    (masked && bits !== 16 && bits !== 32)
  )
    throw corrupt();

  // The masks follow BITMAPINFOHEADER, the oldest Windows header; newer headers contain them.
  const masksEnd = masked ? MASKS_AT + (compression === ALPHABITFIELDS ? 16 : 12) : 0;
  const paletteAt = Math.max(headerEnd, masksEnd);
  if (bytes.length < paletteAt) throw corrupt();
  const alpha = compression === ALPHABITFIELDS || headerSize >= 56;
  const colourSize = headerSize === CORE_HEADER ? 3 : 4;
  const indexed = bits <= 8;
  // Zero colours used means the maximum for this depth. Some files state more than the maximum.
  const colours = indexed ? Math.min(used || 2 ** bits, 2 ** bits) : 0;
  const declared = bytes.readUInt32LE(10);
  const valid = declared >= paletteAt + (indexed ? colourSize : 0) && declared < bytes.length;
  const pixelsAt = valid ? declared : paletteAt + (used || colours) * colourSize;
  return {
    bitsPerPixel,
    runLengthEncoded,
    topDown: height < 0,
    masks: readMasks(bytes, bits, masked, alpha),
    palette: bytes.subarray(paletteAt, Math.min(pixelsAt, paletteAt + colours * colourSize)),
    colourSize,
    pixels: bytes.subarray(pixelsAt),
    icc: readProfile(bytes, headerSize),
  };
}
