import type { Picture } from './decode.ts';

/** Straight RGBA, 8 bits, rows from the top. */
export interface Stamp {
  data: Uint8Array;
  width: number;
  height: number;
}

/** ITU-R BT.709, as libvips makes grey. */
const LUMA = [0.2126, 0.7152, 0.0722] as const;

/**
 * Draws a stamp over each frame of a picture, in place: "source over" (Porter and Duff, 1984) in the picture's own depth,
 * rounded to the nearest value, so that an opacity between two of the 256 steps of a stamp comes out exact. What lies
 * outside the picture is cut off.
 *
 * @param left of the stamp in the frame, pixels; may be negative, as `top` may
 */
export function blend(picture: Picture, stamp: Stamp, left: number, top: number, opacity: number): void {
  const { data, width, height, channels, frames } = picture;
  const depth = data instanceof Uint16Array ? 257 : 1;
  const alphaAt = channels % 2 === 0 ? channels - 1 : null;
  const colours = alphaAt ?? channels;
  const full = 255 * depth;
  const ink = [0, 0, 0];
  for (let y = Math.max(0, -top); y < stamp.height && top + y < height; y++)
    for (let x = Math.max(0, -left); x < stamp.width && left + x < width; x++) {
      const from = 4 * (y * stamp.width + x);
      const coverage = ((stamp.data[from + 3] ?? 0) / 255) * opacity;
      if (coverage === 0) continue;
      for (let channel = 0; channel < 3; channel++) ink[channel] = (stamp.data[from + channel] ?? 0) * depth;
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
