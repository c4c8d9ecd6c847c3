import {
  decodePDFRawStream,
  PDFCatalog,
  type PDFContext,
  PDFDict,
  PDFHexString,
  PDFName,
  PDFNumber,
  PDFPageLeaf,
  PDFParser,
  PDFRawStream,
  PDFString,
} from 'pdf-lib';
import { entriesOfEmptyUserPassword, keyOfEmptyOwnerPassword } from '../pdf/emptyOwnerPassword.ts';
import { limitBytes } from '../pdf/limitBytes.ts';
import {
  lockedMetadata,
  type Obstacle,
  type PdfMetadata,
  readableMetadata,
  UNPACKED_BYTES,
} from '../pdf/metadata.ts';
import { readWithPdfjs } from '../pdf/pdfjs.ts';
import {
  COMMON_KEYS,
  endsBeforeTrailer,
  INFO_KEYS,
  OTHER_KEYS,
  seemsEncrypted,
  wholeObjects,
} from '../pdf/rebuild.ts';
import { type PdfSource, readSource } from '../pdf/source.ts';
import { withoutWarnings } from '../pdf/withoutWarnings.ts';
import { readXmp, type Xmp } from '../pdf/xmp.ts';

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

/** Methods of crypt filters whose files open with a password that pdf.js can ask for (ISO 32000-2, table 25). */
const KNOWN_METHODS = ['None', 'V2', 'AESV2', 'AESV3'];

/** Tells why a file cannot be read without more than its bytes. AES-GCM (ISO/TS 32003) is V 6 with the method AESV4. */
function obstacleOf(encryption: PDFDict): Obstacle {
  const nameOf = (dictionary: PDFDict, key: string) => {
    const value = dictionary.lookup(PDFName.of(key));
    return value instanceof PDFName ? value.decodeText() : '';
  };
  const handler = nameOf(encryption, 'Filter');
  if (handler !== 'Standard')
    return handler.startsWith('Adobe.P') ? 'certificate_required' : 'unsupported_encryption';
  const version = encryption.lookup(PDFName.of('V'));
  const isKnown = version instanceof PDFNumber && [1, 2, 4, 5].includes(version.asNumber());
  const filters = encryption.lookup(PDFName.of('CF'));
  const methods = (filters instanceof PDFDict ? filters.keys() : []).map((key) => {
    const filter = filters instanceof PDFDict ? filters.lookup(key) : undefined;
    return filter instanceof PDFDict ? nameOf(filter, 'CFM') : '';
  });
  return isKnown && methods.every((method) => KNOWN_METHODS.includes(method))
    ? 'password_required'
    : 'unsupported_encryption';
}

/** Whether strings are not encrypted, as in a file that encrypts only its attachments (ISO 32000-2, table 20). */
function hasPlainStrings(encryption: PDFDict): boolean {
  const version = encryption.lookup(PDFName.of('V'));
  if (!(version instanceof PDFNumber) || ![4, 5].includes(version.asNumber())) return false;
  const filter = encryption.lookup(PDFName.of('StrF')) ?? PDFName.of('Identity');
  return filter === PDFName.of('Identity');
}

/** Returns the file key if the owner password is empty, which pdf.js does not try, else null. */
function emptyOwnerKey(encryption: PDFDict): Buffer | null {
  const revision = encryption.lookup(PDFName.of('R'));
  const bytesOf = (key: string) => {
    const value = encryption.lookup(PDFName.of(key));
    return Buffer.from(value instanceof PDFString || value instanceof PDFHexString ? value.asBytes() : []);
  };
  return keyOfEmptyOwnerPassword({
    revision: revision instanceof PDFNumber ? revision.asNumber() : 0,
    o: bytesOf('O'),
    u: bytesOf('U'),
    oe: bytesOf('OE'),
  });
}

/** Appends a trailer (ISO 32000-2, 7.5.6) with which a file of this key opens without a password. */
function unlock(
  bytes: Uint8Array,
  { trailerInfo: { Root, Info } }: PDFContext,
  encryption: PDFDict,
  key: Buffer,
): Uint8Array<ArrayBuffer> {
  const { u, ue } = entriesOfEmptyUserPassword(key);
  const own = encryption.clone();
  own.set(PDFName.of('R'), PDFNumber.of(5));
  own.set(PDFName.of('U'), PDFHexString.of(u.toString('hex')));
  own.set(PDFName.of('UE'), PDFHexString.of(ue.toString('hex')));
  const text = Buffer.from(bytes).toString('latin1');
  const previous = /\d+/.exec(text.slice(text.lastIndexOf('startxref')))?.[0] ?? '0';
  // Offsets count from the header, which other bytes can precede.
  const table = text.length + 1 - Math.max(0, text.indexOf('%PDF-'));
  const info = Info === undefined ? '' : `/Info ${Info}`;
  const update = `\nxref\ntrailer\n<< /Root ${Root} ${info} /Encrypt ${own} /Prev ${previous} >>\nstartxref\n${table}\n%%EOF\n`;
  return Uint8Array.from(Buffer.from(text + update, 'latin1'));
}

/** Reads the XMP metadata of the catalog; null if there are none. @throws Error when they cannot be decompressed */
function xmpOf(context: PDFContext): Xmp | null {
  const root = context.lookup(context.trailerInfo.Root);
  const stream = root instanceof PDFCatalog ? root.lookup(PDFName.of('Metadata')) : undefined;
  if (!(stream instanceof PDFRawStream)) return null;
  return readXmp(Buffer.from(decodePDFRawStream(stream).decode()).toString('latin1'));
}

/** Finds the information dictionary of a file without a trailer that refers to it. */
function findInfo(context: PDFContext): PDFDict | undefined {
  const dictionaries = context
    .enumerateIndirectObjects()
    .flatMap(([, object]) => (object instanceof PDFDict && !(object instanceof PDFCatalog) ? [object] : []));
  const hasAny = (dictionary: PDFDict, keys: readonly string[]) =>
    keys.some((key) => dictionary.has(PDFName.of(key)));
  return (
    dictionaries.findLast((it) => hasAny(it, INFO_KEYS)) ??
    dictionaries.findLast((it) => hasAny(it, COMMON_KEYS) && !hasAny(it, OTHER_KEYS))
  );
}

/** Reads an encrypted file; null if its strings are not encrypted. */
async function readEncrypted(
  bytes: Uint8Array,
  context: PDFContext,
  pageCount: number | null,
): Promise<PdfMetadata | null> {
  const encryption = context.lookup(context.trailerInfo.Encrypt);
  if (!(encryption instanceof PDFDict)) return lockedMetadata(pageCount, 'damaged');
  if (hasPlainStrings(encryption)) return null;
  const key = emptyOwnerKey(encryption);
  const read =
    key === null ? null : await readWithPdfjs(unlock(bytes, context, encryption, key), UNPACKED_BYTES);
  return read === null || read === 'locked' ? lockedMetadata(pageCount, obstacleOf(encryption)) : read;
}

async function salvage(given: Uint8Array): Promise<PdfMetadata | null> {
  // pdf-lib refuses a file whose last object is not whole. It finds a catalog to which no trailer refers, also in object streams.
  const bytes = wholeObjects(given);
  const context = await PDFParser.forBytesWithOptions(bytes, Number.POSITIVE_INFINITY).parseDocument();
  const pageCount = countPages(context);
  const { Encrypt, Info } = context.trailerInfo;
  const encrypted = Encrypt !== undefined;
  const locked = encrypted ? await readEncrypted(bytes, context, pageCount) : null;
  if (locked !== null) return locked;
  if (pageCount === null && !encrypted) return null;
  const isCut = endsBeforeTrailer(bytes);
  if (isCut && !encrypted && seemsEncrypted(given)) return lockedMetadata(pageCount, 'damaged');
  const found = context.lookup(Info);
  const info = found instanceof PDFDict ? found : isCut ? findInfo(context) : undefined;
  return readableMetadata({
    entry(key) {
      const value = info?.lookup(PDFName.of(key));
      return value instanceof PDFString || value instanceof PDFHexString ? value.decodeText() : null;
    },
    xmp: encrypted ? null : xmpOf(context),
    pageCount,
    encrypted,
  });
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
