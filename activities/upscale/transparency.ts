import type { DecodedImage } from '../images/decode.ts';

/** States of a pixel during the flood fill: its colour is not known yet, it is in the queue, or its colour is known. */
const UNKNOWN = 0;
const QUEUED = 1;
const KNOWN = 2;

/** Sets fully transparent pixels to black, in place, because other colours would only make the file larger. */
export function clearTransparent({ data, channels }: DecodedImage): void {
  for (let at = 0; at < data.length; at += channels)
    if (data[at + channels - 1] === 0) data.fill(0, at, at + channels);
}

/**
 * Gives fully transparent pixels the colours of the nearest visible pixels. Colours are enlarged separately from alpha,
 * so the colour of transparent pixels, usually black, would otherwise bleed into visible edges. Takes linear time, and
 * 5 bytes per pixel in addition to a copy of the image. Returns the same image if it has no transparent pixels.
 */
export function fillTransparent(image: DecodedImage): DecodedImage {
  const { width, height, channels } = image;
  if (channels % 2 !== 0) return image;
  const colours = channels - 1;
  const pixels = width * height;
  const state = new Uint8Array(pixels);
  let hidden = pixels;
  for (let pixel = 0; pixel < pixels; pixel++)
    if (image.data[pixel * channels + colours] !== 0) {
      state[pixel] = KNOWN;
      hidden--;
    }
  if (hidden === 0 || hidden === pixels) return image;

  const data = image.data.slice();
  const queue = new Int32Array(hidden);
  let end = 0;

  function eachNeighbour(pixel: number, visit: (neighbour: number) => void): void {
    const [column, row] = [pixel % width, Math.floor(pixel / width)];
    for (let y = Math.max(0, row - 1); y <= Math.min(height - 1, row + 1); y++)
      for (let x = Math.max(0, column - 1); x <= Math.min(width - 1, column + 1); x++) visit(y * width + x);
  }
  const spread = (pixel: number) =>
    eachNeighbour(pixel, (neighbour) => {
      if (state[neighbour] !== UNKNOWN) return;
      state[neighbour] = QUEUED;
      queue[end++] = neighbour;
    });
  /**
   * Gives a transparent pixel the mean colour of those neighbours whose colour is known, weighted by alpha. Pixels that
   * were filled before have weight 1.
   */
  function fill(pixel: number): void {
    let total = 0;
    const sums = [0, 0, 0];
    eachNeighbour(pixel, (neighbour) => {
      if (state[neighbour] !== KNOWN) return;
      const weight = data[neighbour * channels + colours] || 1;
      total += weight;
      for (let channel = 0; channel < colours; channel++)
        sums[channel] = (sums[channel] ?? 0) + weight * (data[neighbour * channels + channel] ?? 0);
    });
    for (let channel = 0; channel < colours; channel++)
      data[pixel * channels + channel] = Math.round((sums[channel] ?? 0) / total);
  }

  for (let pixel = 0; pixel < pixels; pixel++) if (state[pixel] === KNOWN) spread(pixel);
  for (let start = 0; start < end; ) {
    const ring = queue.subarray(start, end);
    start = end;
    for (const pixel of ring) fill(pixel);
    for (const pixel of ring) state[pixel] = KNOWN;
    for (const pixel of ring) spread(pixel);
  }
  return { ...image, data };
}
