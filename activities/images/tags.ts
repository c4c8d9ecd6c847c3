import { deflateSync } from 'node:zlib';
import type { DecodedImage } from './decode.ts';
import { toExif, toJfif, toPng } from './density.ts';
import type { OutputType } from './imageOutput.ts';
import { pngChunk } from './png.ts';
import { pngChunks } from './pngChunks.ts';

/** Metadata of a file that define the colours and the density of its image. */
type Tags = Pick<DecodedImage, 'icc' | 'colourChunks' | 'density'>;

/**
 * Largest part of a colour profile, in bytes, that fits into one JPEG segment after the segment's header (ICC.1:2022,
 * B.4).
 */
const JPEG_PART = 65_519;
/** Flags of VP8X: alpha, a colour profile, EXIF data. */
const ALPHA_FLAG = 0x10;
const PROFILE_FLAG = 0x20;
const EXIF_FLAG = 0x08;

/**
 * Offset after the signature (8 bytes) and IHDR (25 bytes), where chunks that describe the image may be inserted (PNG, Third
 * Edition, 5.6).
 */
const PNG_HEAD = 33;

/** Writes the chunks, and removes the density that libvips writes also if it knows none. */
function tagPng(bytes: Buffer, { icc, colourChunks, density }: Tags): Buffer {
  const chunks = colourChunks.map(({ type, data }) => pngChunk(type, data));
  if (icc !== null)
    chunks.push(
      pngChunk('iCCP', Buffer.concat([Buffer.from('ICC profile\0\0', 'latin1'), deflateSync(icc)])),
    );
  if (density !== null) chunks.push(pngChunk('pHYs', toPng(density)));
  const own = [...pngChunks(bytes)].find(({ type }) => type === 'pHYs');
  const rest =
    own === undefined
      ? [bytes.subarray(PNG_HEAD)]
      : [bytes.subarray(PNG_HEAD, own.start), bytes.subarray(own.end)];
  return Buffer.concat([bytes.subarray(0, PNG_HEAD), ...chunks, ...rest]);
}

function jpegSegment(marker: number, ...parts: readonly Buffer[]): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  const data = Buffer.concat(parts);
  head.writeUInt16BE(2 + data.length, 2);
  return Buffer.concat([head, data]);
}

/** Inserts a JFIF segment, which must be the first one, and segments with the profile. libvips writes neither. */
function tagJpeg(bytes: Buffer, { icc, density }: Tags): Buffer {
  const jfif = density === null ? null : toJfif(density);
  const count = Math.ceil((icc?.length ?? 0) / JPEG_PART);
  const profile = Array.from({ length: count }, (_, index) =>
    jpegSegment(
      0xe2,
      Buffer.from(`ICC_PROFILE\0${String.fromCharCode(index + 1, count)}`, 'latin1'),
      icc?.subarray(index * JPEG_PART, (index + 1) * JPEG_PART) ?? Buffer.alloc(0),
    ),
  );
  return Buffer.concat([
    bytes.subarray(0, 2),
    ...(jfif === null ? [] : [jpegSegment(0xe0, jfif)]),
    ...profile,
    bytes.subarray(2),
  ]);
}

function riffChunk(kind: string, data: Buffer): Buffer {
  const head = Buffer.from(`${kind}\0\0\0\0`, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

/**
 * Inserts a colour profile after the VP8X header of a WebP, and EXIF data at its end. Adds that header first if the file has
 * none (RFC 9649, 2.7).
 */
function tagWebp(bytes: Buffer, { icc, density, width, height, channels }: DecodedImage): Buffer {
  const exif = density === null ? null : toExif(density);
  if (icc === null && exif === null) return bytes;
  const extended = bytes.toString('latin1', 12, 16) === 'VP8X';
  const header = extended ? Buffer.from(bytes.subarray(20, 30)) : Buffer.alloc(10);
  if (!extended) {
    header[0] = channels % 2 === 0 ? ALPHA_FLAG : 0;
    header.writeUIntLE(width - 1, 4, 3);
    header.writeUIntLE(height - 1, 7, 3);
  }
  const added = (icc === null ? 0 : PROFILE_FLAG) | (exif === null ? 0 : EXIF_FLAG);
  header.writeUInt8(header.readUInt8(0) | added, 0);
  const chunks = [
    Buffer.from('WEBP'),
    riffChunk('VP8X', header),
    ...(icc === null ? [] : [riffChunk('ICCP', icc)]),
    bytes.subarray(extended ? 30 : 12),
    ...(exif === null ? [] : [riffChunk('EXIF', exif)]),
  ];
  return riffChunk('RIFF', Buffer.concat(chunks));
}

/** Adds to an encoded image what the image says of its colours and its density. The samples stay as they are. */
export function tagImage(type: OutputType, bytes: Buffer, image: DecodedImage): Buffer {
  if (type === 'png') return tagPng(bytes, image);
  if (type === 'jpeg') return tagJpeg(bytes, image);
  return tagWebp(bytes, image);
}
