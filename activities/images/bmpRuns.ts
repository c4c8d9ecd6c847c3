import { ServiceError } from '../../schemas/errors.ts';

const END_OF_LINE = 0;
const END_OF_PICTURE = 1;
const DELTA = 2;

const corrupt = () => new ServiceError('corrupt_source');

/**
 * Decodes pixels compressed as BI_RLE8 or BI_RLE4 ("Bitmap Compression" in the documentation of the Windows GDI) to one
 * palette index per byte, rows in the order of the file. Pixels that the data skips have index 0. Runs are truncated at
 * the end of their row.
 *
 * @throws ServiceError corrupt_source when an offset points outside the image or the data ends too early
 */
export function decodeRuns(packed: Buffer, bits: 4 | 8, width: number, height: number): Uint8Array {
  const indices = new Uint8Array(width * height);
  const index =
    bits === 8 ? (pair: number) => pair : (pair: number, i: number) => (i % 2 ? pair & 15 : pair >> 4);
  let [x, y, at] = [0, 0, 0];
  while (at + 2 <= packed.length) {
    const [count, value] = [packed.readUInt8(at), packed.readUInt8(at + 1)];
    at += 2;
    if (count > 0) {
      if (y >= height) throw corrupt();
      const drawn = Math.min(count, width - x);
      for (let i = 0; i < drawn; i++) indices[y * width + x + i] = index(value, i);
      x += drawn;
    } else if (value === END_OF_LINE) {
      x = 0;
      y++;
    } else if (value === END_OF_PICTURE) return indices;
    else if (value === DELTA) {
      if (at + 2 > packed.length) throw corrupt();
      x += packed.readUInt8(at);
      y += packed.readUInt8(at + 1);
      if (x > width || y > height) throw corrupt();
      at += 2;
    } else {
      const perByte = 8 / bits;
      const length = Math.ceil(value / perByte);
      if (y >= height || at + length > packed.length) throw corrupt();
      const drawn = Math.min(value, width - x);
      for (let i = 0; i < drawn; i++)
        indices[y * width + x + i] = index(packed.readUInt8(at + Math.floor(i / perByte)), i);
      x += drawn;
      // Runs of literal pixels are padded to a multiple of 16 bits.
      at += length + (length % 2);
    }
  }
  // Some programs omit the marker for the end of the image, so the data may end once the last row is complete.
  if (y < height - 1 || (y === height - 1 && x < width)) throw corrupt();
  return indices;
}
