import { ServiceError } from '../../schemas/errors.ts';
import { type BmpLayout, readBmpLayout } from './bmpHeader.ts';
import { unpackRuns } from './bmpRuns.ts';
import type { Picture } from './decode.ts';
import type { ImageHeader } from './header.ts';

type Size = Pick<ImageHeader, 'width' | 'height'>;

/** Pixels of a row of the file, each as the number that its bits make. */
type ReadRow = (row: number, into: Uint32Array) => void;

/** Rows are padded to 32 bits; those that end the file too early in their padding are whole. */
function rowReader({ pixels, bitsPerPixel }: BmpLayout, { width, height }: Size): ReadRow {
  const stride = Math.ceil((width * bitsPerPixel) / 32) * 4;
  if (stride * (height - 1) + Math.ceil((width * bitsPerPixel) / 8) > pixels.length)
    throw new ServiceError('corrupt_source');
  if (bitsPerPixel <= 8) {
    const most = 2 ** bitsPerPixel - 1;
    return (row, into) => {
      for (let x = 0; x < width; x++) {
        const bit = x * bitsPerPixel;
        into[x] = ((pixels[row * stride + (bit >> 3)] ?? 0) >> (8 - bitsPerPixel - (bit & 7))) & most;
      }
    };
  }
  const size = bitsPerPixel / 8;
  return (row, into) => {
    for (let x = 0; x < width; x++) into[x] = pixels.readUIntLE(row * stride + x * size, size);
  };
}

function runReader({ pixels, bitsPerPixel }: BmpLayout, { width, height }: Size): ReadRow {
  const indices = unpackRuns(pixels, bitsPerPixel === 4 ? 4 : 8, width, height);
  return (row, into) => into.set(indices.subarray(row * width, (row + 1) * width));
}

/** The part of a pixel under a mask, from 0 to 255. */
function fieldReader(mask: number): (pixel: number) => number {
  if (mask === 0) return () => 0;
  const shift = 31 - Math.clz32(mask & -mask);
  const most = mask >>> shift;
  return (pixel) => Math.round((((pixel & mask) >>> shift) * 255) / most);
}

/** What a pixel's number stands for: red, green, blue and, where there is one, alpha. */
function colourReader({
  bitsPerPixel,
  palette,
  colourSize,
  masks,
}: BmpLayout): ((pixel: number) => number)[] {
  // Windows and browsers take black for a colour that the palette lacks.
  if (bitsPerPixel <= 8) return [2, 1, 0].map((byte) => (pixel) => palette[pixel * colourSize + byte] ?? 0);
  return masks.filter((mask, channel) => channel < 3 || mask !== 0).map(fieldReader);
}

/** Some programs give alpha a place and leave it empty: then the picture is opaque, as it is to browsers. */
function withoutEmptyAlpha(rgba: Uint8Array): Uint8Array {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 0) return rgba;
  for (let at = 3; at < rgba.length; at += 4) rgba[at] = 255;
  return rgba;
}

/**
 * Decodes a BMP of OS/2 or Windows: 1 to 32 bits a pixel, with a palette or masks, run lengths or none. It is transparent
 * where its header has a mask for alpha.
 *
 * @throws ServiceError corrupt_source, unsupported_source
 */
export function decodeBmp(bytes: Buffer, { width, height }: Size): Picture {
  const layout = readBmpLayout(bytes);
  const readRow = (layout.runs ? runReader : rowReader)(layout, { width, height });
  const colours = colourReader(layout);
  const channels = colours.length === 4 ? 4 : 3;
  const data = new Uint8Array(width * height * channels);
  const row = new Uint32Array(width);
  for (let y = 0; y < height; y++) {
    readRow(y, row);
    const start = (layout.topDown ? y : height - 1 - y) * width * channels;
    for (const [channel, colour] of colours.entries())
      for (let x = 0; x < width; x++) data[start + x * channels + channel] = colour(row[x] ?? 0);
  }
  return {
    data: channels === 4 ? withoutEmptyAlpha(data) : data,
    width,
    height,
    channels,
    frames: 1,
    icc: layout.icc,
    chromaSubsampling: null,
    delay: [],
    loop: 0,
  };
}
