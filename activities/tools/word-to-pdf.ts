import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/word-to-pdf.ts';
import { downloadFile } from '../download/downloadFile.ts';
import { suggestFileName } from '../download/fileName.ts';
import type inspectDocument from '../jobs/inspect-document.ts';
import { type Office, office } from '../office/office.ts';
import type { NetworkContext } from '../runtime/context.ts';

const DOCUMENT_BYTES = 25_000_000;
/** Milliseconds reserved for returning the result before the attempt times out. */
const MARGIN_MS = 1000;

export const resource = office;

/** Downloads a document and converts it to PDF with a LibreOffice process that is used only once. */
export async function run(
  { fileUrl }: ToolInput<typeof definition>,
  {
    egress,
    offload,
    resource,
    signal,
    deadline,
  }: Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'> & { resource: Office },
): Promise<ToolOutput<typeof definition>> {
  const limits = { signal, deadline: deadline - MARGIN_MS };
  const { bytes, source } = await downloadFile(egress, fileUrl, { ...limits, maxBytes: DOCUMENT_BYTES });
  const type = await offload<typeof inspectDocument>('inspect-document', { bytes }, limits);
  const name = suggestFileName(source, type.extension, 'document');
  const pdf = await resource.convert({ bytes, type, name }, limits);
  return {
    fileBase64: pdf.toString('base64'),
    mimeType: 'application/pdf',
    fileName: suggestFileName(source, 'pdf', 'document'),
    sizeBytes: pdf.length,
  };
}
