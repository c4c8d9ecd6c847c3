import { whiteLevel } from './colour.ts';
import type { DecodedImage } from './decode.ts';

/**
 * A drawn watermark text as an RGBA image: 8 bits per sample, straight (not premultiplied) alpha, rows from the top.
 */
export interface Stamp {
  data: Uint8Array;
  width: number;
  height: number;
}

/** Luma weights of red, green and blue by ITU-R BT.709, the same as in libvips. */
const LUMA = [0.2126, 0.7152, 0.0722] as const;

/**
 * Composites a stamp over each frame of an image, in place ("source over", Porter and Duff, 1984). Computes with the
 * bit depth of the image and rounds to the nearest value, so that opacity is not quantized to 8 bits. Clips the stamp
 * at the edges of the image. White text has the level of paper, which in HDR images is below the largest one.
 *
 * @param left x coordinate of the stamp in the frame, in pixels. It can be negative, and so can `top`, the y
 *   coordinate.
 */
export function blend(image: DecodedImage, stamp: Stamp, left: number, top: number, opacity: number): void {
  const { data, width, height, channels, frames } = image;
  const depth = data instanceof Uint16Array ? 257 : 1;
  const alphaAt = channels % 2 === 0 ? channels - 1 : null;
  const colours = alphaAt ?? channels;
  const full = 255 * depth;
  const light = depth * whiteLevel(image.colourChunks);
  const ink = [0, 0, 0];
  for (let y = Math.max(0, -top); y < stamp.height && top + y < height; y++)
    for (let x = Math.max(0, -left); x < stamp.width && left + x < width; x++) {
      const from = 4 * (y * stamp.width + x);
      const coverage = ((stamp.data[from + 3] ?? 0) / 255) * opacity;
      if (coverage === 0) continue;
      for (let channel = 0; channel < 3; channel++) ink[channel] = (stamp.data[from + channel] ?? 0) * light;
      if (colours === 1) ink[0] = Math.round(LUMA.reduce((sum, share, i) => sum + share * (ink[i] ?? 0), 0));
      for (let frame = 0; frame < frames; frame++) {
        const at = channels * ((frame * height + top + y) * width + left + x);
        const under = alphaAt === null ? 1 : (data[at + alphaAt] ?? 0) / full;
        const alpha = coverage + under * (1 - coverage);
        for (let channel = 0; channel < colours; channel++) {
          const own = data[at + channel] ?? 0;
          data[at + channel] = Math.round(own + (((ink[channel] ?? 0) - own) * coverage) / alpha);
        }
        if (alphaAt !== null) data[at + alphaAt] = Math.round(alpha * full);
      }
    }
}
