import { ServiceError } from '../../schemas/errors.ts';
import { lockedMetadata, type Obstacle, type PdfMetadata, UNPACKED_BYTES } from '../pdf/metadata.ts';
import { countPages, readWithPdfjs } from '../pdf/pdfjs.ts';
import { endsBeforeTrailer, onlyInfo, rebuild, withoutEncryption } from '../pdf/rebuild.ts';
import { hasHeader, linearizedPages, mayBePdf, type PdfSource, readSource } from '../pdf/source.ts';

/** Result of reading a file with pdf.js. */
type PdfReading =
  | { kind: 'read'; metadata: PdfMetadata }
  /** The file is encrypted and cannot be opened. */
  | { kind: 'locked'; pageCount: number | null; obstacle: Obstacle }
  | { kind: 'unreadable'; code: 'corrupt_source' | 'unsupported_source' };

/** Reads the first rebuilt copy of a file that can be opened and has a page. */
async function readRebuilt(given: Uint8Array, unpackedBytes: number): Promise<PdfMetadata | null> {
  for (const { bytes, encrypted } of rebuild(given)) {
    const metadata = await readWithPdfjs(bytes, unpackedBytes);
    if (metadata === null || metadata === 'locked' || metadata.pageCount === 0) continue;
    return encrypted ? lockedMetadata(metadata.pageCount, 'damaged') : metadata;
  }
  return null;
}

/** Adds the texts of an information dictionary to which nothing refers, because the file ends too early. */
async function withLostInfo(
  metadata: PdfMetadata,
  given: Uint8Array,
  unpackedBytes: number,
): Promise<PdfMetadata> {
  if (!endsBeforeTrailer(given)) return metadata;
  const { bytes, encrypted } = onlyInfo(given);
  const { pageCount, claims } = metadata;
  if (encrypted) return lockedMetadata(pageCount, 'damaged');
  const info = bytes === null ? null : await readWithPdfjs(bytes, unpackedBytes);
  return info === null || info === 'locked' ? metadata : { ...info, pageCount, claims };
}

const hasText = ({ title, author, subject, producer }: PdfMetadata): boolean =>
  [title, author, subject, producer].some((text) => text !== null);

/**
 * Reads a PDF with pdf.js.
 *
 * @param source the file; with `rebuilt`, its trailers are ignored
 * @param unpackedBytes limit of all decompressed streams
 * @throws ServiceError unsupported_source when the file is not a PDF; source_too_large when its streams decompress to more
 *   than `unpackedBytes`
 */
export default async function readPdf(
  source: PdfSource & { rebuilt?: boolean },
  unpackedBytes = UNPACKED_BYTES,
): Promise<PdfReading> {
  const { bytes, start } = readSource(source);
  if (!mayBePdf(start)) throw new ServiceError('unsupported_source');
  const unreadable: PdfReading = {
    kind: 'unreadable',
    code: hasHeader(start) ? 'corrupt_source' : 'unsupported_source',
  };
  if (source.rebuilt) {
    const metadata = await readRebuilt(bytes, unpackedBytes);
    return metadata === null ? unreadable : { kind: 'read', metadata };
  }
  const reading = await readWithPdfjs(bytes, unpackedBytes);
  // pdf.js has taken the bytes.
  const again = () => readSource(source).bytes;
  if (reading !== null && reading !== 'locked') {
    const metadata = hasText(reading) ? reading : await withLostInfo(reading, again(), unpackedBytes);
    return { kind: 'read', metadata };
  }
  if (reading === null && endsBeforeTrailer(again())) {
    const metadata = await readRebuilt(again(), unpackedBytes);
    if (metadata !== null) return { kind: 'read', metadata };
  }
  const plain = withoutEncryption(again());
  const pageCount = plain === null ? null : await countPages(plain, unpackedBytes);
  if (reading === 'locked') {
    const linearized = linearizedPages(start, source.size);
    return { kind: 'locked', pageCount: linearized ?? pageCount, obstacle: 'password_required' };
  }
  if (pageCount === null) return unreadable;
  return { kind: 'locked', pageCount, obstacle: 'unsupported_encryption' };
}
