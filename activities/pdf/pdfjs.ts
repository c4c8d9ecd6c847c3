import { ServiceError } from '../../schemas/errors.ts';
import { type ByteLimit, limitBytes } from './limitBytes.ts';
import { type PdfMetadata, readableMetadata } from './metadata.ts';
import { withoutWarnings } from './withoutWarnings.ts';
import { readXmp } from './xmp.ts';
import { captureXmpPacket } from './xmpPacket.ts';

const { getDocument, PasswordException, VerbosityLevel } = await withoutWarnings(
  () => import('pdfjs-dist/legacy/build/pdf.mjs'),
);

async function open<T>(
  data: Uint8Array<ArrayBuffer>,
  read: (document: Awaited<ReturnType<typeof getDocument>['promise']>) => Promise<T>,
): Promise<T> {
  const task = getDocument({ data, verbosity: VerbosityLevel.ERRORS, useWorkerFetch: false });
  try {
    const document = await task.promise;
    const { numPages } = document;
    if (!Number.isInteger(numPages) || numPages < 0) throw new RangeError(`${numPages} pages`);
    return await read(document);
  } finally {
    await task.destroy();
  }
}

const readMetadata = (
  data: Uint8Array<ArrayBuffer>,
  limit: ByteLimit,
  xmpBytes: number,
): Promise<PdfMetadata> =>
  open(data, async (document) => {
    limit.allow(xmpBytes);
    const { result, packet } = await captureXmpPacket(() => document.getMetadata());
    const entries = new Map<string, unknown>(Object.entries(result.info));
    const metadata = readableMetadata({
      entry: (key) => entries.get(key),
      xmp: packet === null ? null : readXmp(packet),
      pageCount: document.numPages,
      encrypted: typeof entries.get('EncryptFilterName') === 'string',
    });
    // pdf.js ignores XMP that it cannot unpack, so nothing is known of its claims.
    return limit.exceeded ? { ...metadata, claims: null } : metadata;
  });

/**
 * Reads a file with pdf.js, which takes the buffer.
 *
 * @param unpackedBytes limit of all decompressed streams; XMP metadata may have twice as many in addition
 * @returns `locked` when opening the file needs a password, null when pdf.js cannot read it
 * @throws ServiceError source_too_large
 */
export async function readWithPdfjs(
  bytes: Uint8Array<ArrayBuffer>,
  unpackedBytes: number,
): Promise<PdfMetadata | 'locked' | null> {
  using limit = limitBytes(unpackedBytes);
  try {
    return await withoutWarnings(() => readMetadata(bytes, limit, 2 * unpackedBytes));
  } catch (error) {
    if (error instanceof PasswordException) return 'locked';
    if (limit.exceeded)
      throw new ServiceError('source_too_large', {
        detail: 'The decompressed content of the file is larger than this tool allows.',
      });
    return null;
  }
}

/** Counts the pages of a file with pdf.js, which takes the buffer; null when there are none or the file cannot be read. */
export async function countPages(
  bytes: Uint8Array<ArrayBuffer>,
  unpackedBytes: number,
): Promise<number | null> {
  using _limit = limitBytes(unpackedBytes);
  try {
    return await withoutWarnings(() => open(bytes, async ({ numPages }) => numPages || null));
  } catch {
    return null;
  }
}
