import { ServiceError } from '../../schemas/errors.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/word-to-pdf.ts';
import { suggestFileName } from '../download/fileName.ts';
import { readSourceFile } from '../download/sourceFile.ts';
import type compareText from '../jobs/compare-text.ts';
import type prepareDocument from '../jobs/prepare-document.ts';
import type { TextComparison } from '../office/compareText.ts';
import { type Office, office } from '../office/office.ts';
import { findReplaced } from '../office/replacedFonts.ts';
import type { NetworkContext } from '../runtime/context.ts';

const DOCUMENT_BYTES = 25_000_000;
/** Milliseconds reserved for returning the result before the attempt times out. */
const MARGIN_MS = 1000;
/** Maximum numbers of fonts and characters in the output. */
const MAX_FONTS = 50;
const MAX_CHARACTERS = 100;
/** Number of rows of a table above which it is named as the reason of a conversion that takes too long. */
const LONG_TABLE = 1000;

export const resource = office;

/**
 * Reads a document and converts it to PDF with a LibreOffice process that is used only once. Refuses documents of which the
 * PDF would lack text.
 */
export async function run(
  { fileUrl }: ToolInput<typeof definition>,
  {
    egress,
    file,
    offload,
    resource,
    signal,
    deadline,
  }: Pick<NetworkContext, 'egress' | 'file' | 'offload' | 'signal' | 'deadline'> & { resource: Office },
): Promise<ToolOutput<typeof definition>> {
  const limits = { signal, deadline: deadline - MARGIN_MS };
  const { bytes, source } = await readSourceFile({ egress, file }, fileUrl, {
    ...limits,
    maxBytes: DOCUMENT_BYTES,
  });
  const prepared = await offload<typeof prepareDocument>('prepare-document', { bytes }, limits);
  const { type, text, families, rows } = prepared;
  const name = suggestFileName(source, type.extension, 'document');
  const document = { ...prepared, bytes: prepared.bytes ?? bytes, name, families: families ?? [] };
  const { pdf, fonts, undrawable } = await resource
    .convert(document, limits)
    .catch((error: unknown) => explainTimeout(error, rows));
  const textCheck =
    text === null
      ? null
      : checkText(await offload<typeof compareText>('compare-text', { pdf, text }, limits));
  return {
    fileBase64: pdf.toString('base64'),
    mimeType: 'application/pdf',
    fileName: suggestFileName(source, 'pdf', 'document'),
    sizeBytes: pdf.length,
    textCheck,
    replacedFonts: families === null ? null : findReplaced(pdf, families, fonts).slice(0, MAX_FONTS),
    undrawnCharacters: undrawable.slice(0, MAX_CHARACTERS),
  };
}

/** Names a long table as the reason of a timeout, because the time that LibreOffice takes for one grows with the square of its rows. */
function explainTimeout(error: unknown, rows: number): never {
  if (error instanceof ServiceError && error.code === 'deadline_exceeded' && rows > LONG_TABLE)
    throw new ServiceError('deadline_exceeded', {
      detail: `The document was not converted in time. It has a table of ${rows} rows, and twice as many rows take up to four times as long: divide it into several, with text between them.`,
      cause: error,
    });
  throw error;
}

/** Returns the part of the output about the text. @throws ServiceError unsupported_source when the PDF lacks words */
function checkText({ words, missing, paragraphs, uncertain }: TextComparison) {
  if (missing > 0)
    throw new ServiceError('unsupported_source', {
      detail: `The document contains text that LibreOffice does not show: the PDF would lack ${missing} of ${words} words, in ${paragraphs} paragraphs.`,
    });
  return { words, uncertainWords: uncertain };
}
