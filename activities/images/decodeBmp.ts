import { ServiceError } from '../../schemas/errors.ts';
import { type BmpLayout, readBmpLayout } from './bmpHeader.ts';
import { decodeRuns } from './bmpRuns.ts';
import type { DecodedImage } from './decode.ts';
import { readDensity } from './density.ts';
import type { ImageHeader } from './header.ts';

type Size = Pick<ImageHeader, 'width' | 'height'>;

/** Reads one row, counted in the order of the file, into an array with one unsigned integer per pixel. */
type ReadRow = (row: number, into: Uint32Array) => void;

/**
 * Returns a reader for uncompressed rows, which are padded to a multiple of 32 bits. The padding of the last row may be
 * missing.
 */
function rowReader({ pixels, bitsPerPixel }: BmpLayout, { width, height }: Size): ReadRow {
  const stride = Math.ceil((width * bitsPerPixel) / 32) * 4;
  if (stride * (height - 1) + Math.ceil((width * bitsPerPixel) / 8) > pixels.length)
    throw new ServiceError('corrupt_source');
  if (bitsPerPixel <= 8) {
    const max = 2 ** bitsPerPixel - 1;
    return (row, into) => {
      for (let x = 0; x < width; x++) {
        const bit = x * bitsPerPixel;
        into[x] = ((pixels[row * stride + (bit >> 3)] ?? 0) >> (8 - bitsPerPixel - (bit & 7))) & max;
      }
    };
  }
  const size = bitsPerPixel / 8;
  return (row, into) => {
    for (let x = 0; x < width; x++) into[x] = pixels.readUIntLE(row * stride + x * size, size);
  };
}

function runReader({ pixels, bitsPerPixel }: BmpLayout, { width, height }: Size): ReadRow {
  const indices = decodeRuns(pixels, bitsPerPixel === 4 ? 4 : 8, width, height);
  return (row, into) => into.set(indices.subarray(row * width, (row + 1) * width));
}

/** Returns a function that reads the bits of a pixel that `mask` selects, scaled to 0 to 255. */
function fieldReader(mask: number): (pixel: number) => number {
  if (mask === 0) return () => 0;
  const shift = 31 - Math.clz32(mask & -mask);
  const max = mask >>> shift;
  return (pixel) => Math.round((((pixel & mask) >>> shift) * 255) / max);
}

/**
 * Returns one function per channel (red, green, blue and, if present, alpha) that reads the channel's value from a
 * pixel.
 */
function colourReader({
  bitsPerPixel,
  palette,
  colourSize,
  masks,
}: BmpLayout): ((pixel: number) => number)[] {
  // Colours that are missing from the palette are read as black, as in Windows and browsers.
  if (bitsPerPixel <= 8) return [2, 1, 0].map((byte) => (pixel) => palette[pixel * colourSize + byte] ?? 0);
  return masks.filter((mask, channel) => channel < 3 || mask !== 0).map(fieldReader);
}

/** Makes an image opaque if all its alpha values are zero, as browsers do, because some programs do not set alpha. */
function fixEmptyAlpha(rgba: Uint8Array): Uint8Array {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 0) return rgba;
  for (let at = 3; at < rgba.length; at += 4) rgba[at] = 255;
  return rgba;
}

/**
 * Decodes a BMP of OS/2 or Windows: 1 to 32 bits per pixel, with a palette or masks, run-length encoded or
 * uncompressed. Alpha values are used if the header has an alpha mask. libvips reads no BMP; jimp 1.6 decodes 29 of
 * the 56 readable files of bmpsuite differently or not at all.
 *
 * @throws ServiceError corrupt_source, unsupported_source
 */
export function decodeBmp(bytes: Buffer, { width, height }: Size): DecodedImage {
  const layout = readBmpLayout(bytes);
  const readRow = (layout.runLengthEncoded ? runReader : rowReader)(layout, { width, height });
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
    data: channels === 4 ? fixEmptyAlpha(data) : data,
    width,
    height,
    channels,
    frames: 1,
    icc: layout.icc,
    colourChunks: [],
    density: readDensity('bmp', bytes),
    delay: [],
    loop: 0,
  };
}
