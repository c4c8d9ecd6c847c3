import { suggestFileName } from '../download/fileName.ts';
import type { SourceName } from '../download/sourceFile.ts';

export type OutputType = 'png' | 'jpeg' | 'webp';

/**
 * Largest width and height in pixels, by type. JPEG: JPEG_MAX_DIMENSION of libjpeg, which is below the format's 65,535
 * (ITU-T T.81, B.2.2). WebP: 14 bits (RFC 9649, 2.5 and 2.6). PNG: no limit that the images of this service reach.
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

/** Returns the output fields of a tool that converts a downloaded image into another image. */
export function imageOutput(bytes: Uint8Array, type: OutputType, source: SourceName) {
  const { mimeType, extension } = OUTPUTS[type];
  return {
    fileBase64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
    mimeType,
    fileName: suggestFileName(source, extension, 'image'),
    sizeBytes: bytes.length,
  };
}
