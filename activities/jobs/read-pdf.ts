import { ServiceError } from '../../schemas/errors.ts';
import { limitBytes } from '../pdf/limitBytes.ts';
import { cleanText, lockedMetadata, type PdfMetadata, UNPACKED_BYTES } from '../pdf/metadata.ts';
import { rebuild } from '../pdf/rebuild.ts';
import { hasHeader, linearizedPages, mayBePdf, type PdfSource, readSource } from '../pdf/source.ts';
import { withoutWarnings } from '../pdf/withoutWarnings.ts';

/** Result of reading a file with pdf.js. */
export type PdfReading =
  | { kind: 'read'; metadata: PdfMetadata }
  /** Opening the file needs a password. */
  | { kind: 'locked'; pageCount: number | null }
  | { kind: 'unreadable'; code: 'corrupt_source' | 'unsupported_source' };

const { getDocument, PasswordException, VerbosityLevel } = await withoutWarnings(
  () => import('pdfjs-dist/legacy/build/pdf.mjs'),
);

async function read(data: Uint8Array<ArrayBuffer>): Promise<PdfMetadata> {
  const task = getDocument({ data, verbosity: VerbosityLevel.ERRORS, useWorkerFetch: false });
  try {
    const document = await task.promise;
    const { numPages } = document;
    if (!Number.isInteger(numPages) || numPages < 0) throw new RangeError(`${numPages} pages`);
    const { info } = await document.getMetadata();
    const entries = new Map<string, unknown>(Object.entries(info));
    return {
      title: cleanText(entries.get('Title')),
      author: cleanText(entries.get('Author')),
      subject: cleanText(entries.get('Subject')),
      producer: cleanText(entries.get('Producer')),
      pageCount: numPages,
      encrypted: typeof entries.get('EncryptFilterName') === 'string',
    };
  } finally {
    await task.destroy();
  }
}

/** Reads one version of a file. @throws ServiceError source_too_large */
async function attempt(
  bytes: Uint8Array<ArrayBuffer>,
  unpackedBytes: number,
): Promise<PdfMetadata | 'locked' | null> {
  using limit = limitBytes(unpackedBytes);
  try {
    return await withoutWarnings(() => read(bytes));
  } catch (error) {
    if (error instanceof PasswordException) return 'locked';
    if (limit.exceeded)
      throw new ServiceError('source_too_large', {
        detail: 'The decompressed content of the file is larger than this tool allows.',
      });
    return null;
  }
}

/** Reads the first rebuilt copy of a file that can be opened and has a page. */
async function readRebuilt(given: Uint8Array, unpackedBytes: number): Promise<PdfMetadata | null> {
  for (const { bytes, encrypted } of rebuild(given)) {
    const metadata = await attempt(bytes, unpackedBytes);
    if (metadata === null || metadata === 'locked' || metadata.pageCount === 0) continue;
    return encrypted ? lockedMetadata(metadata.pageCount) : metadata;
  }
  return null;
}

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
  const reading = source.rebuilt
    ? await readRebuilt(bytes, unpackedBytes)
    : await attempt(bytes, unpackedBytes);
  if (reading === 'locked') return { kind: 'locked', pageCount: linearizedPages(start, source.size) };
  if (reading === null)
    return { kind: 'unreadable', code: hasHeader(start) ? 'corrupt_source' : 'unsupported_source' };
  return { kind: 'read', metadata: reading };
}
