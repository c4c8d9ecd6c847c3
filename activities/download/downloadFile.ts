import type { Guard } from '../../egress/guard.ts';
import type { GuardedResponse } from '../../egress/response.ts';
import { ServiceError } from '../../schemas/errors.ts';

interface DownloadOptions {
  /** Maximum size of the decoded body in bytes. */
  maxBytes: number;
  signal: AbortSignal;
  /** Time by which the download must be complete, epoch milliseconds. */
  deadline: number;
}

export interface Downloaded {
  bytes: Buffer;
  /** The final URL after redirects and the response headers, from which `suggestFileName` derives a file name. */
  source: Pick<GuardedResponse, 'url' | 'header'>;
}

/**
 * Downloads the file of the input field `fileUrl`, following redirects.
 *
 * @throws ServiceError errors of the guard; `target_failed` for a status other than 2xx; `source_too_large`;
 *   `unsupported_source` for an unsupported content coding
 */
export async function downloadFile(
  egress: Guard,
  fileUrl: string,
  options: DownloadOptions,
): Promise<Downloaded> {
  const target = egress.parseTarget(fileUrl, { kind: 'url', pointer: '/fileUrl' });
  using response = await egress.fetch(target, options);
  const { status } = response;
  if (status < 200 || status > 299)
    throw new ServiceError('target_failed', {
      detail: `The server answered the download with status ${status}.`,
    });
  if (!response.decoded)
    throw new ServiceError('unsupported_source', { detail: 'The file has an unsupported Content-Encoding.' });
  const bytes = await response.bytes();
  return { bytes, source: response };
}
