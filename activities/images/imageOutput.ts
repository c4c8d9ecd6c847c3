import type { Downloaded } from '../download/downloadFile.ts';
import { suggestFileName } from '../download/fileName.ts';

export type OutputType = 'png' | 'jpeg' | 'webp';

/**
 * Pixels a side that a picture of each type can have. JPEG: JPEG_MAX_DIMENSION of libjpeg, below the 65,535 of its format
 * (ITU-T T.81, B.2.2). WebP: 14 bits for a side (RFC 9649, 2.5 and 2.6). PNG has more than any picture here needs.
 */
export const LARGEST_SIDE: Readonly<Record<OutputType, number>> = {
  png: Infinity,
  jpeg: 65_500,
  webp: 16_383,
};

const OUTPUTS = {
  png: { mimeType: 'image/png', extension: 'png' },
  jpeg: { mimeType: 'image/jpeg', extension: 'jpg' },
  webp: { mimeType: 'image/webp', extension: 'webp' },
} as const;

/** The output fields of a tool that made a picture of a downloaded one. */
export function imageAnswer(bytes: Uint8Array, type: OutputType, source: Downloaded['source']) {
  const { mimeType, extension } = OUTPUTS[type];
  return {
    fileBase64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
    mimeType,
    fileName: suggestFileName(source, extension, 'image'),
    sizeBytes: bytes.length,
  };
}
