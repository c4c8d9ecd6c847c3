import { collect } from '../../egress/collect.ts';
import type { GuardedResponse } from '../../egress/response.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { fileNotFound, isFileId } from '../../schemas/formats/fileSource.ts';
import { ResultGone } from '../../store/calls/results.ts';
import type { NetworkContext, UploadedFile } from '../runtime/context.ts';

interface SourceOptions {
  /** Maximum size of the file in bytes, after its Content-Encoding has been decoded. */
  maxBytes: number;
  signal: AbortSignal;
  /** Time by which the file must have been read, epoch milliseconds. */
  deadline: number;
}

/** Where a file comes from: what `suggestFileName` needs of a response. */
export type SourceName = Pick<GuardedResponse, 'url' | 'header'>;

/** A file that a tool reads. Its connection closes on disposal. */
interface Source extends Disposable {
  name: SourceName;
  /** The bytes; they can be read once. @throws as `openSourceFile` */
  body: AsyncIterable<Buffer>;
}

async function* readUploaded(
  file: UploadedFile,
  { signal, deadline }: SourceOptions,
): AsyncGenerator<Buffer> {
  try {
    for await (const piece of file.read()) {
      signal.throwIfAborted();
      if (Date.now() > deadline) throw new ServiceError('deadline_exceeded');
      yield piece;
    }
  } catch (error) {
    throw error instanceof ResultGone ? fileNotFound(error) : error;
  }
}

function openUploaded(file: UploadedFile, options: SourceOptions): Source {
  const { sizeBytes, name } = file;
  const { maxBytes } = options;
  if (sizeBytes > maxBytes)
    throw new ServiceError('source_too_large', {
      detail: `The file has ${sizeBytes} bytes; the limit of this tool is ${maxBytes}.`,
    });
  return {
    name: { url: `file:///${encodeURIComponent(name ?? '')}`, header: () => null },
    body: readUploaded(file, options),
    [Symbol.dispose]: () => undefined,
  };
}

/**
 * Opens the file that the input field `fileUrl` names: an uploaded file, or the response to a download, following redirects.
 *
 * @throws ServiceError errors of the guard; `target_failed` for a status other than 2xx; `source_too_large`; `not_found` if the
 *   uploaded file does not exist; `unsupported_source` for an unsupported content coding
 */
export async function openSourceFile(
  { egress, file }: Pick<NetworkContext, 'egress' | 'file'>,
  fileUrl: string,
  options: SourceOptions,
): Promise<Source> {
  if (isFileId(fileUrl)) {
    if (file === undefined) throw fileNotFound();
    return openUploaded(file, options);
  }
  const target = egress.parseTarget(fileUrl, { kind: 'url', pointer: '/fileUrl' });
  const response = await egress.fetch(target, options);
  try {
    const { status } = response;
    if (status < 200 || status > 299)
      throw new ServiceError('target_failed', {
        detail: `The server answered the download with status ${status}.`,
      });
    if (!response.decoded)
      throw new ServiceError('unsupported_source', {
        detail: 'The file has an unsupported Content-Encoding.',
      });
    return { name: response, body: response.body, [Symbol.dispose]: () => response.close() };
  } catch (error) {
    response.close();
    throw error;
  }
}

/** Reads the whole file that the input field `fileUrl` names. @throws as `openSourceFile` */
export async function readSourceFile(
  context: Pick<NetworkContext, 'egress' | 'file'>,
  fileUrl: string,
  options: SourceOptions,
): Promise<{ bytes: Buffer; source: SourceName }> {
  using source = await openSourceFile(context, fileUrl, options);
  return { bytes: await collect(source.body, options.maxBytes), source: source.name };
}
