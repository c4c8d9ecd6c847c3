import type { Guard } from '../../egress/guard.ts';
import type { GuardedResponse } from '../../egress/response.ts';
import { ServiceError } from '../../schemas/errors.ts';

interface DownloadOptions {
  /** Of the decoded body. */
  maxBytes: number;
  signal: AbortSignal;
  /** Epoch milliseconds by which the last byte must have come. */
  deadline: number;
}

export interface Downloaded {
  bytes: Buffer;
  /** Where it came from in the end, and with which headers: for `suggestFileName`. */
  source: Pick<GuardedResponse, 'url' | 'header'>;
}

/**
 * Downloads a file that the field `fileUrl` names, following redirects.
 *
 * @throws ServiceError as the guard does; `target_failed` for a status other than 2xx; `source_too_large`; `unsupported_source`
 *   for a content coding that we do not know
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
    throw new ServiceError('target_failed', { detail: `The address of the file answered ${status}.` });
  if (!response.decoded)
    throw new ServiceError('unsupported_source', { detail: 'The file came in an unknown content coding.' });
  const bytes = await response.bytes();
  return { bytes, source: response };
}
