import { deflateSync } from 'node:zlib';
import type { OutputType } from './imageOutput.ts';
import { pngChunk } from './png.ts';

/**
 * Largest part of a colour profile, in bytes, that fits into one JPEG segment after the segment's header (ICC.1:2022,
 * B.4).
 */
const JPEG_PART = 65_519;
const VP8X_PROFILE_FLAG = 0x20;

/**
 * Offset after the signature (8 bytes) and IHDR (25 bytes), where an iCCP chunk may be inserted (ISO/IEC 15948,
 * 11.3.2.3).
 */
const PNG_HEAD = 33;

function intoPng(bytes: Buffer, icc: Buffer): Buffer {
  const chunk = pngChunk('iCCP', Buffer.concat([Buffer.from('ICC profile\0\0', 'latin1'), deflateSync(icc)]));
  return Buffer.concat([bytes.subarray(0, PNG_HEAD), chunk, bytes.subarray(PNG_HEAD)]);
}

function intoJpeg(bytes: Buffer, icc: Buffer): Buffer {
  const count = Math.ceil(icc.length / JPEG_PART);
  const segments = Array.from({ length: count }, (_, index) => {
    const part = icc.subarray(index * JPEG_PART, (index + 1) * JPEG_PART);
    const heading = Buffer.from('\xff\xe2\0\0ICC_PROFILE\0\0\0', 'latin1');
    heading.writeUInt16BE(heading.length - 2 + part.length, 2);
    heading[16] = index + 1;
    heading[17] = count;
    return Buffer.concat([heading, part]);
  });
  // The profile is inserted after SOI and after the JFIF APP0 segment, which must be the first segment if present.
  const start = bytes.readUInt16BE(2) === 0xffe0 ? 4 + bytes.readUInt16BE(4) : 2;
  return Buffer.concat([bytes.subarray(0, start), ...segments, bytes.subarray(start)]);
}

function riffChunk(kind: string, data: Buffer): Buffer {
  const head = Buffer.from(`${kind}\0\0\0\0`, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

/**
 * Inserts a colour profile after the VP8X header of a WebP. Adds that header first if the file has none (RFC 9649,
 * 2.7).
 */
function intoWebp(bytes: Buffer, icc: Buffer, width: number, height: number, alpha: boolean): Buffer {
  const extended = bytes.toString('latin1', 12, 16) === 'VP8X';
  const header = extended ? Buffer.from(bytes.subarray(20, 30)) : Buffer.alloc(10);
  if (!extended) {
    header[0] = alpha ? 0x10 : 0;
    header.writeUIntLE(width - 1, 4, 3);
    header.writeUIntLE(height - 1, 7, 3);
  }
  header.writeUInt8(header.readUInt8(0) | VP8X_PROFILE_FLAG, 0);
  const rest = bytes.subarray(extended ? 30 : 12);
  return riffChunk(
    'RIFF',
    Buffer.concat([Buffer.from('WEBP'), riffChunk('VP8X', header), riffChunk('ICCP', icc), rest]),
  );
}

/** Embeds a colour profile in an encoded image that has none, without converting the samples. */
export function embedProfile(
  type: OutputType,
  bytes: Buffer,
  icc: Buffer,
  { width, height, channels }: { width: number; height: number; channels: number },
): Buffer {
  if (type === 'png') return intoPng(bytes, icc);
  if (type === 'jpeg') return intoJpeg(bytes, icc);
  return intoWebp(bytes, icc, width, height, channels % 2 === 0);
}
