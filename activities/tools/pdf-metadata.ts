import { ServiceError } from '../../schemas/errors.ts';
import type { ToolInput } from '../../schemas/tool.ts';
import definition, { PDF_BYTES } from '../../schemas/tools/pdf-metadata.ts';
import { openSourceFile } from '../download/sourceFile.ts';
import type readPdf from '../jobs/read-pdf.ts';
import type salvagePdf from '../jobs/salvage-pdf.ts';
import { lockedMetadata, type PdfMetadata } from '../pdf/metadata.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { openScratch } from '../runtime/scratchFile.ts';

/** Milliseconds reserved for returning the result before the attempt times out. */
const MARGIN_MS = 200;
/** Time limit in milliseconds of each further attempt to read a file that pdf.js cannot open. */
const SALVAGE_MS = 4000;

/** Streams the file to disk to save memory, and reads it in a child process. */
export async function run(
  { fileUrl }: ToolInput<typeof definition>,
  {
    egress,
    file,
    offload,
    signal,
    deadline,
  }: Pick<NetworkContext, 'egress' | 'file' | 'offload' | 'signal' | 'deadline'>,
): Promise<PdfMetadata> {
  const limits = {
    signal,
    deadline: Math.min(deadline, Date.now() + definition.limits.workMs) - MARGIN_MS,
  };
  await using scratch = await openScratch();
  {
    using source = await openSourceFile({ egress, file }, fileUrl, { maxBytes: PDF_BYTES, ...limits });
    await scratch.writeFile(source.body);
  }
  const { size } = await scratch.stat();
  const source = { path: `/proc/${process.pid}/fd/${scratch.fd}`, size };
  const reading = await offload<typeof readPdf>('read-pdf', source, limits);
  if (reading.kind === 'read') return reading.metadata;

  // If a further attempt fails, the result of the first attempt is returned.
  const again = () => ({ signal, deadline: Math.min(limits.deadline, Date.now() + SALVAGE_MS) });
  const orNull = (error: unknown) => {
    if (signal.aborted || !(error instanceof ServiceError)) throw error;
    return null;
  };
  const salvaged = await offload<typeof salvagePdf>('salvage-pdf', source, again()).catch(orNull);
  if (reading.kind === 'locked') {
    const found = salvaged ?? lockedMetadata(null, reading.obstacle);
    return { ...found, pageCount: reading.pageCount ?? found.pageCount };
  }
  if (salvaged !== null) return salvaged;
  const rebuilt = await offload<typeof readPdf>('read-pdf', { ...source, rebuilt: true }, again()).catch(
    orNull,
  );
  if (rebuilt?.kind !== 'read') throw new ServiceError(reading.code);
  return rebuilt.metadata;
}
