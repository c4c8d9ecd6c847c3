import { pngChunks } from './pngChunks.ts';

/**
 * Types of text chunks (PNG, Third Edition, 11.3.3). libvips would decompress them into memory, although nothing uses
 * them.
 */
const TEXT = ['tEXt', 'zTXt', 'iTXt'];

/**
 * Removes the text chunks of a PNG, which can decompress to 1000 times their size. Returns the same buffer if there are
 * none.
 */
export function withoutText(png: Buffer): Buffer {
  const kept: Buffer[] = [];
  let from = 0;
  for (const { type, start, end } of pngChunks(png)) {
    if (!TEXT.includes(type)) continue;
    kept.push(png.subarray(from, start));
    from = end;
  }
  return from === 0 ? png : Buffer.concat([...kept, png.subarray(from)]);
}
