import {
  PDFCatalog,
  type PDFContext,
  PDFDict,
  PDFHexString,
  PDFName,
  PDFPageLeaf,
  PDFParser,
  PDFString,
} from 'pdf-lib';
import { limitBytes } from '../pdf/limitBytes.ts';
import { lockedMetadata, type PdfMetadata, showText, UNPACKED_BYTES } from '../pdf/metadata.ts';
import { quietly } from '../pdf/quietly.ts';
import { type PdfSource, readSource } from '../pdf/source.ts';

/** A tree can lead to the same pages in more ways than can be walked. */
const NODES = 1_000_000;

/** null where the tree is not to be had: unreadable, endless, or in encrypted object streams. */
function countPages(context: PDFContext): number | null {
  let nodes = 0;
  let pages = 0;
  const root = context.lookup(context.trailerInfo.Root);
  if (!(root instanceof PDFCatalog)) return null;
  try {
    root.Pages().traverse((node) => {
      nodes += 1;
      if (nodes > NODES) throw new RangeError('the page tree has no end');
      if (node instanceof PDFPageLeaf) pages += 1;
    });
  } catch {
    return null;
  }
  return pages === 0 ? null : pages;
}

function textOf(info: PDFDict | undefined, key: string): string | null {
  const value = info?.lookup(PDFName.of(key));
  return value instanceof PDFString || value instanceof PDFHexString ? showText(value.decodeText()) : null;
}

async function salvage(bytes: Uint8Array): Promise<PdfMetadata | null> {
  const context = await PDFParser.forBytesWithOptions(bytes, Number.POSITIVE_INFINITY).parseDocument();
  const pageCount = countPages(context);
  const { Encrypt, Info } = context.trailerInfo;
  if (Encrypt !== undefined) return lockedMetadata(pageCount);
  if (pageCount === null) return null;
  const found = context.lookup(Info);
  const info = found instanceof PDFDict ? found : undefined;
  return {
    title: textOf(info, 'Title'),
    author: textOf(info, 'Author'),
    subject: textOf(info, 'Subject'),
    producer: textOf(info, 'Producer'),
    pageCount,
    encrypted: false,
  };
}

/**
 * Reads with pdf-lib, which knows no passwords, what pdf.js does not open: numbers and the page tree are in the clear
 * in most encrypted files.
 *
 * @returns null when there is nothing to be had from it
 */
export default async function salvagePdf(source: PdfSource): Promise<PdfMetadata | null> {
  const { bytes } = readSource(source);
  using _ceiling = limitBytes(UNPACKED_BYTES);
  try {
    return await quietly(() => salvage(bytes));
  } catch {
    return null;
  }
}
