import type { Fault } from '../errors.ts';

export const QR_LEVELS = ['L', 'M', 'Q', 'H'] as const;
type QrLevel = (typeof QR_LEVELS)[number];

/**
 * Capacity of the largest QR code (version 40) in bytes and digits (ISO/IEC 18004:2015, table 7). Of all modes,
 * digits have the highest capacity.
 */
const CAPACITY: Record<QrLevel, { bytes: number; digits: number }> = {
  L: { bytes: 2953, digits: 7089 },
  M: { bytes: 2331, digits: 5596 },
  Q: { bytes: 1663, digits: 3993 },
  H: { bytes: 1273, digits: 3057 },
};

/** Whether text exceeds the capacity in every encoding mode. Text for which this is false may still be too long. */
export const exceedsEveryMode = (text: string, level: QrLevel): boolean =>
  text.length > CAPACITY[level].digits;

/** Returns the fault for text that exceeds the capacity of the error correction level. */
export function tooLong(level: QrLevel): Fault {
  const { bytes, digits } = CAPACITY[level];
  return {
    pointer: '/text',
    message: `is too long for error correction ${level}: at most ${bytes} bytes of UTF-8, or ${digits} digits`,
  };
}

/** Width of the quiet zone on each side of the code, in modules (ISO/IEC 18004:2015, section 6.3.8). */
export const QUIET_ZONE = 4;

/**
 * Minimum edge length of the image in pixels: one pixel per module. @param modules modules along an edge of the code,
 * 21 to 177
 */
export const minimumSize = (modules: number): number => modules + 2 * QUIET_ZONE;
