import type { Fault } from '../errors.ts';

export const QR_LEVELS = ['L', 'M', 'Q', 'H'] as const;
export type QrLevel = (typeof QR_LEVELS)[number];

/** Bytes and digits in a code of version 40 (ISO/IEC 18004:2015, table 7); no kind of text takes more than digits. */
const CAPACITY: Record<QrLevel, { bytes: number; digits: number }> = {
  L: { bytes: 2953, digits: 7089 },
  M: { bytes: 2331, digits: 5596 },
  Q: { bytes: 1663, digits: 3993 },
  H: { bytes: 1273, digits: 3057 },
};

/** True for text that is too long whatever it holds; shorter text may be too long still. */
export const isPlainlyTooLong = (text: string, level: QrLevel): boolean =>
  text.length > CAPACITY[level].digits;

/** The fault of a text that no version holds at this level. */
export function tooLong(level: QrLevel): Fault {
  const { bytes, digits } = CAPACITY[level];
  return {
    pointer: '/text',
    message: `is too long for error correction ${level}: at most ${bytes} bytes of UTF-8, or ${digits} digits`,
  };
}

/** Light modules that belong on each side of the code (ISO/IEC 18004:2015, section 6.3.8). */
export const QUIET_ZONE = 4;

/** @param modules dark and light squares along an edge of the code, 21 to 177 */
export const leastSize = (modules: number): number => modules + 2 * QUIET_ZONE;
