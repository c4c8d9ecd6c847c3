import type { ImageHeader } from '../images/header.ts';
import { jpegSegments } from '../images/jpegSegments.ts';

/** Number of coefficients, lowest frequencies first, whose steps are compared. Encoders agree on these best. */
const COMPARED = 10;
/** Their mean step in the table for luma of ITU-T T.81, K.1, which libjpeg uses for quality 50. */
const MEAN_STEP = 13.2;
/** That of a WebP, whose steps are not read. About that of its default quality, 75. */
const LOSSY_WEBP = 0.5;

const DEFINE_TABLES = 0xdb;

/** Returns the mean of the first steps of the quantization table 0, that of luma (ITU-T T.81, B.2.4.1); null if there is none. */
function meanStep(bytes: Buffer): number | null {
  for (const { marker, data } of jpegSegments(bytes))
    for (let at = 0; marker === DEFINE_TABLES && at + 65 <= data.length; ) {
      const size = data.readUInt8(at) >> 4 === 0 ? 1 : 2;
      if ((data.readUInt8(at) & 15) === 0) {
        const steps = Array.from({ length: COMPARED }, (_, index) =>
          data.readUIntBE(at + 1 + index * size, size),
        );
        return steps.reduce((sum, step) => sum + step, 0) / COMPARED;
      }
      at += 1 + 64 * size;
    }
  return null;
}

/**
 * Returns how coarsely an image was compressed: 0 without loss, 0.1 for a JPEG of quality 95, 0.5 for quality 75, 1 for quality
 * 50. Artefacts grow with it.
 */
export function coarsenessOf(
  bytes: Buffer,
  { type, lossless }: Pick<ImageHeader, 'type' | 'lossless'>,
): number {
  if (lossless) return 0;
  return type === 'jpeg' ? (meanStep(bytes) ?? MEAN_STEP) / MEAN_STEP : LOSSY_WEBP;
}
