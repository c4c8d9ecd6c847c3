import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/pdf-metadata.ts';
import { TEXT_LENGTH } from '../../schemas/tools/pdf-metadata.ts';

export type PdfMetadata = ToolOutput<typeof definition>;

/** Of the arrays that streams are unpacked into, each of which is copied to one of twice its size as it grows. */
export const UNPACKED_BYTES = 64 * 1024 * 1024;

/** A string of the information dictionary, as it is shown. */
export function showText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const whole = value.replaceAll('\0', '').trim().toWellFormed();
  // The cut may leave half a surrogate pair.
  const text = whole.slice(0, TEXT_LENGTH).replace(/[\ud800-\udbff]$/, '');
  return text === '' ? null : text;
}

/** Of a file whose strings cannot be read. */
export const lockedMetadata = (pageCount: number | null): PdfMetadata => ({
  title: null,
  author: null,
  subject: null,
  producer: null,
  pageCount,
  encrypted: true,
});
