import { ServiceError } from '../../schemas/errors.ts';
import { limitBytes } from '../pdf/limitBytes.ts';
import { cleanText, type PdfMetadata, UNPACKED_BYTES } from '../pdf/metadata.ts';
import { hasHeader, linearizedPages, mayBePdf, type PdfSource, readSource } from '../pdf/source.ts';
import { withNewTrailer } from '../pdf/withNewTrailer.ts';
import { withoutWarnings } from '../pdf/withoutWarnings.ts';

/** Result of reading a file with pdf.js. */
export type PdfReading =
  | { kind: 'read'; metadata: PdfMetadata }
  /** Opening the file needs a password. */
  | { kind: 'locked'; pageCount: number | null }
  | { kind: 'unreadable' };

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

/**
 * Reads a PDF with pdf.js.
 *
 * @param source the file; with `newTrailer`, the trailers that it contains are ignored
 *
 * @throws ServiceError unsupported_source when the file is not a PDF; source_too_large when its streams decompress to more
 *   than `UNPACKED_BYTES`
 */
export default async function readPdf(source: PdfSource & { newTrailer?: boolean }): Promise<PdfReading> {
  const { bytes: given, start } = readSource(source);
  const bytes = source.newTrailer ? withNewTrailer(given) : given;
  if (bytes === null) return { kind: 'unreadable' };
  if (!mayBePdf(start)) throw new ServiceError('unsupported_source');
  using limit = limitBytes(UNPACKED_BYTES);
  try {
    return { kind: 'read', metadata: await withoutWarnings(() => read(bytes)) };
  } catch (error) {
    if (error instanceof PasswordException)
      return { kind: 'locked', pageCount: linearizedPages(start, source.size) };
    if (limit.exceeded)
      throw new ServiceError('source_too_large', {
        detail: 'The decompressed content of the file is larger than this tool allows.',
      });
    if (!hasHeader(start)) throw new ServiceError('unsupported_source');
    return { kind: 'unreadable' };
  }
}
