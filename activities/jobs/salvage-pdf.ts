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
import { decryptString, keyOfEmptyOwnerPassword } from '../pdf/emptyOwnerPassword.ts';
import { limitBytes } from '../pdf/limitBytes.ts';
import { cleanText, lockedMetadata, type PdfMetadata, UNPACKED_BYTES } from '../pdf/metadata.ts';
import { type PdfSource, readSource } from '../pdf/source.ts';
import { withoutWarnings } from '../pdf/withoutWarnings.ts';

/** Maximum number of page tree nodes to visit, because a malformed tree can reference the same nodes repeatedly. */
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

/** Returns the cleaned text of a PDF string, or null if no text is left. */
type ReadString = (value: PDFString | PDFHexString) => string | null;

const plainText: ReadString = (value) => cleanText(value.decodeText());

/**
 * Returns a function that reads the strings of an encrypted file without a password; null when a password is needed. No
 * password is needed if strings are not encrypted (StrF is Identity, as in a file that encrypts only its attachments), or
 * if the empty owner password decrypts them, which pdf.js does not try (ISO 32000-2, 7.6.4 to 7.6.6).
 */
function stringReader(encryption: unknown): ReadString | null {
  if (!(encryption instanceof PDFDict)) return null;
  const numberOf = (key: string) => {
    const value = encryption.lookup(PDFName.of(key));
    return value instanceof PDFNumber ? value.asNumber() : 0;
  };
  const bytesOf = (key: string) => {
    const value = encryption.lookup(PDFName.of(key));
    return Buffer.from(value instanceof PDFString || value instanceof PDFHexString ? value.asBytes() : []);
  };
  if (![4, 5].includes(numberOf('V'))) return null;
  const filter = encryption.lookup(PDFName.of('StrF')) ?? PDFName.of('Identity');
  if (filter === PDFName.of('Identity')) return plainText;
  const entries = { revision: numberOf('R'), o: bytesOf('O'), u: bytesOf('U'), oe: bytesOf('OE') };
  const key = keyOfEmptyOwnerPassword(entries);
  if (key === null) return null;
  return (value) => {
    const text = decryptString(key, Buffer.from(value.asBytes()));
    return plainText(PDFHexString.of(text.toString('hex')));
  };
}

function textOf(info: PDFDict | undefined, key: string, readString: ReadString): string | null {
  const value = info?.lookup(PDFName.of(key));
  return value instanceof PDFString || value instanceof PDFHexString ? readString(value) : null;
}

async function salvage(bytes: Uint8Array): Promise<PdfMetadata | null> {
  const context = await PDFParser.forBytesWithOptions(bytes, Number.POSITIVE_INFINITY).parseDocument();
  const pageCount = countPages(context);
  const { Encrypt, Info } = context.trailerInfo;
  const encrypted = Encrypt !== undefined;
  const readString = encrypted ? stringReader(context.lookup(Encrypt)) : plainText;
  if (readString === null) return lockedMetadata(pageCount);
  if (pageCount === null && !encrypted) return null;
  const found = context.lookup(Info);
  const info = found instanceof PDFDict ? found : undefined;
  return {
    title: textOf(info, 'Title', readString),
    author: textOf(info, 'Author', readString),
    subject: textOf(info, 'Subject', readString),
    producer: textOf(info, 'Producer', readString),
    pageCount,
    encrypted,
  };
}

/**
 * Reads the metadata of a file that pdf.js cannot open, with pdf-lib. pdf-lib does not decrypt files, but can count the
 * pages of most encrypted files, because encryption usually leaves the page tree readable.
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
