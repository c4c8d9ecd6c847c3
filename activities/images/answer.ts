import type { Downloaded } from '../downloadFile.ts';
import { suggestFileName } from '../fileName.ts';

export type OutputType = 'png' | 'jpeg' | 'webp';

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
