import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/pdf-metadata.ts';
import { TEXT_LENGTH } from '../../schemas/tools/pdf-metadata.ts';
import type { Xmp } from './xmp.ts';

export type PdfMetadata = ToolOutput<typeof definition>;
/** Why the texts of an encrypted file cannot be read. */
export type Obstacle = NonNullable<PdfMetadata['unreadable']>;

/** Limit in bytes of all decompressed streams. A growing buffer counts several times, because each growth copies it. */
export const UNPACKED_BYTES = 64 * 1024 * 1024;

/** Cleans and truncates a text; null when nothing is left. */
function cleanText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const whole = value.replaceAll('\0', '').replaceAll(/\r\n?/g, '\n').trim().toWellFormed();
  // Truncating may have split a surrogate pair.
  const text = whole.slice(0, TEXT_LENGTH).replace(/[\ud800-\udbff]$/, '');
  return text === '' ? null : text;
}

interface Readable {
  /** Returns an entry of the information dictionary, such as `Title`. */
  entry(key: string): unknown;
  xmp: Xmp | null;
  pageCount: number | null;
  encrypted: boolean;
}

/** Metadata of a file whose strings can be read. Texts that the information dictionary lacks are those of the XMP metadata. */
export const readableMetadata = ({ entry, xmp, pageCount, encrypted }: Readable): PdfMetadata => ({
  title: cleanText(entry('Title')) ?? cleanText(xmp?.title),
  author: cleanText(entry('Author')) ?? cleanText(xmp?.author),
  subject: cleanText(entry('Subject')) ?? cleanText(xmp?.subject),
  producer: cleanText(entry('Producer')) ?? cleanText(xmp?.producer),
  pageCount,
  encrypted,
  unreadable: null,
  claims: { pdfA: xmp?.pdfA ?? null, pdfUA: xmp?.pdfUA ?? null },
});

/** Metadata of an encrypted file whose strings cannot be read. */
export const lockedMetadata = (pageCount: number | null, unreadable: Obstacle): PdfMetadata => ({
  title: null,
  author: null,
  subject: null,
  producer: null,
  pageCount,
  encrypted: true,
  unreadable,
  claims: null,
});
