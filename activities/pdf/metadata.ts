import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/pdf-metadata.ts';
import { TEXT_LENGTH } from '../../schemas/tools/pdf-metadata.ts';

export type PdfMetadata = ToolOutput<typeof definition>;

/** Limit in bytes of all decompressed streams. A growing buffer counts several times, because each growth copies it. */
export const UNPACKED_BYTES = 64 * 1024 * 1024;

/** Cleans and truncates a string of the information dictionary; null when nothing is left. */
export function cleanText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const whole = value.replaceAll('\0', '').trim().toWellFormed();
  // Truncating may have split a surrogate pair.
  const text = whole.slice(0, TEXT_LENGTH).replace(/[\ud800-\udbff]$/, '');
  return text === '' ? null : text;
}

/** Metadata of an encrypted file whose strings cannot be read. */
export const lockedMetadata = (pageCount: number | null): PdfMetadata => ({
  title: null,
  author: null,
  subject: null,
  producer: null,
  pageCount,
  encrypted: true,
});
