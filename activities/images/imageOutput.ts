import type { Downloaded } from '../download/downloadFile.ts';
import { suggestFileName } from '../download/fileName.ts';

export type OutputType = 'png' | 'jpeg' | 'webp';

/**
 * Largest width and height per type, pixels. JPEG: JPEG_MAX_DIMENSION of libjpeg, below the format's 65,535 (ITU-T T.81,
 * B.2.2). WebP: 14 bits (RFC 9649, 2.5 and 2.6). PNG: larger than any image here.
 */
export const MAX_SIDE: Readonly<Record<OutputType, number>> = {
  png: Infinity,
  jpeg: 65_500,
  webp: 16_383,
};

const OUTPUTS = {
  png: { mimeType: 'image/png', extension: 'png' },
  jpeg: { mimeType: 'image/jpeg', extension: 'jpg' },
  webp: { mimeType: 'image/webp', extension: 'webp' },
} as const;

/** Builds the output fields of a tool that turns a downloaded image into another. */
export function imageOutput(bytes: Uint8Array, type: OutputType, source: Downloaded['source']) {
  const { mimeType, extension } = OUTPUTS[type];
  return {
    fileBase64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
    mimeType,
    fileName: suggestFileName(source, extension, 'image'),
    sizeBytes: bytes.length,
  };
}
