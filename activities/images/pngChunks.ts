import { crc32 } from 'node:zlib';

/** A chunk of a PNG (PNG, Third Edition, 5.3). */
interface PngChunk {
  type: string;
  data: Buffer;
  /** Offset of the chunk in the file, and that of the next one. */
  start: number;
  end: number;
}

/** Size in bytes of a chunk's length, type and checksum. */
const FRAME_BYTES = 12;

/** Yields the chunks of a PNG that lie in the file as a whole. */
export function* pngChunks(bytes: Buffer): Generator<PngChunk> {
  // The first chunk follows the signature of 8 bytes.
  for (let start = 8; start + FRAME_BYTES <= bytes.length; ) {
    const end = start + FRAME_BYTES + bytes.readUInt32BE(start);
    const type = bytes.toString('latin1', start + 4, start + 8);
    if (end > bytes.length) return;
    yield { type, data: bytes.subarray(start + 8, end - 4), start, end };
    start = end;
  }
}

/** Yields the chunks before the image data, which describe how to show it. @param end type of the chunk that ends them */
export function* pngHead(bytes: Buffer, end: 'PLTE' | 'IDAT' = 'IDAT'): Generator<PngChunk> {
  for (const chunk of pngChunks(bytes)) {
    if (chunk.type === end || chunk.type === 'IDAT') return;
    yield chunk;
  }
}

/** Whether the checksum of a chunk is right. Readers ignore other chunks. */
export const isIntact = (bytes: Buffer, { start, end }: PngChunk): boolean =>
  crc32(bytes.subarray(start + 4, end - 4)) === bytes.readUInt32BE(end - 4);
