/**
 * Types of text chunks (PNG, Third Edition, 11.3.3). libvips would decompress them into memory, although nothing uses
 * them.
 */
const TEXT = ['tEXt', 'zTXt', 'iTXt'];
const SIGNATURE_BYTES = 8;
/** Size in bytes of a chunk's length, type and checksum. */
const CHUNK_BYTES = 12;

/**
 * Removes the text chunks of a PNG, which can decompress to 1000 times their size. Returns the same buffer if there are
 * none.
 */
export function withoutText(png: Buffer): Buffer {
  const kept: Buffer[] = [];
  let from = 0;
  for (let at = SIGNATURE_BYTES; at + CHUNK_BYTES <= png.length; ) {
    const end = at + CHUNK_BYTES + png.readUInt32BE(at);
    if (TEXT.includes(png.toString('latin1', at + 4, at + 8))) {
      kept.push(png.subarray(from, at));
      from = Math.min(end, png.length);
    }
    at = end;
  }
  return from === 0 ? png : Buffer.concat([...kept, png.subarray(from)]);
}
