import {
  PDFCatalog,
  type PDFContext,
  PDFDict,
  PDFHexString,
  PDFName,
  PDFNumber,
  PDFPageLeaf,
  PDFParser,
  PDFString,
} from 'pdf-lib';
import { limitBytes } from '../pdf/limitBytes.ts';
import { cleanText, lockedMetadata, type PdfMetadata, UNPACKED_BYTES } from '../pdf/metadata.ts';
import { type PdfSource, readSource } from '../pdf/source.ts';
import { withoutWarnings } from '../pdf/withoutWarnings.ts';

/** Limits the walk because a malformed page tree can reference the same nodes over and over. */
const MAX_NODES = 1_000_000;

/** Counts the pages; null if the page tree is unreadable, cyclic or in encrypted object streams. */
function countPages(context: PDFContext): number | null {
  let nodes = 0;
  let pages = 0;
  const root = context.lookup(context.trailerInfo.Root);
  if (!(root instanceof PDFCatalog)) return null;
  try {
    root.Pages().traverse((node) => {
      nodes += 1;
      if (nodes > MAX_NODES) throw new RangeError('the page tree has too many nodes');
      if (node instanceof PDFPageLeaf) pages += 1;
    });
  } catch {
    return null;
  }
  return pages === 0 ? null : pages;
}

function textOf(info: PDFDict | undefined, key: string): string | null {
  const value = info?.lookup(PDFName.of(key));
  return value instanceof PDFString || value instanceof PDFHexString ? cleanText(value.decodeText()) : null;
}

/**
 * Whether the strings of an encrypted file are not encrypted, as in a file that encrypts only its attachments
 * (ISO 32000-2, 7.6.6, table 20: StrF of encryption versions 4 and 5, whose default is Identity).
 */
function hasPlainStrings(encryption: unknown): boolean {
  if (!(encryption instanceof PDFDict)) return false;
  const version = encryption.lookup(PDFName.of('V'));
  if (!(version instanceof PDFNumber) || ![4, 5].includes(version.asNumber())) return false;
  const filter = encryption.lookup(PDFName.of('StrF'));
  return filter === undefined || filter === PDFName.of('Identity');
}

async function salvage(bytes: Uint8Array): Promise<PdfMetadata | null> {
  const context = await PDFParser.forBytesWithOptions(bytes, Number.POSITIVE_INFINITY).parseDocument();
  const pageCount = countPages(context);
  const { Encrypt, Info } = context.trailerInfo;
  const encrypted = Encrypt !== undefined;
  if (encrypted && !hasPlainStrings(context.lookup(Encrypt))) return lockedMetadata(pageCount);
  if (pageCount === null && !encrypted) return null;
  const found = context.lookup(Info);
  const info = found instanceof PDFDict ? found : undefined;
  return {
    title: textOf(info, 'Title'),
    author: textOf(info, 'Author'),
    subject: textOf(info, 'Subject'),
    producer: textOf(info, 'Producer'),
    pageCount,
    encrypted,
  };
}

/**
 * Reads files that pdf.js cannot open, with pdf-lib. It does not decrypt, but numbers and the page tree are not
 * encrypted in most files.
 *
 * @returns null when no metadata can be read
 */
export default async function salvagePdf(source: PdfSource): Promise<PdfMetadata | null> {
  const { bytes } = readSource(source);
  using _limit = limitBytes(UNPACKED_BYTES);
  try {
    return await withoutWarnings(() => salvage(bytes));
  } catch {
    return null;
  }
}
