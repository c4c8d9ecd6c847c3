import { ServiceError } from '../../schemas/errors.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { isHtml } from './sniff.ts';

/** A page as it came: HTML by its bytes, and not parsed yet. */
export interface Page {
  /** After redirects, without fragment. */
  url: string;
  /** A page that tells of an error is a page, too. */
  statusCode: number;
  /** Value of the header; null when there is none. */
  contentType: string | null;
  bytes: Uint8Array;
}

/** From the look-up of the name to the last byte, redirects included. */
const DOWNLOAD_MS = 15_000;
/** After decompression. */
const PAGE_BYTES = 5 * 1024 * 1024;
/** What browsers ask a server for that has several forms of a page. */
const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/**
 * Downloads a page, redirects followed.
 *
 * @throws ServiceError unsupported_source for anything but HTML; source_too_large above 5 MB; target_timeout when the target
 *   takes more than 15 s; what the guard throws, with the pointer `/url`
 */
export async function downloadPage(
  url: string,
  { egress, signal, deadline }: Pick<NetworkContext, 'egress' | 'signal' | 'deadline'>,
): Promise<Page> {
  const target = egress.parseTarget(url, { kind: 'url', pointer: '/url' });
  using response = await egress.fetch(target, {
    headers: [['Accept', ACCEPT]],
    maxBytes: PAGE_BYTES,
    signal,
    deadline: Math.min(deadline, Date.now() + DOWNLOAD_MS),
  });
  if (!response.decoded)
    throw new ServiceError('unsupported_source', {
      detail: 'The page has a Content-Encoding we do not know.',
    });
  const bytes = await response.bytes();
  // Of several, browsers go by the last.
  const types = response.headers.filter(([name]) => name.toLowerCase() === 'content-type');
  const contentType = types.at(-1)?.[1] ?? null;
  if (!isHtml(bytes, contentType))
    throw new ServiceError('unsupported_source', { detail: 'What was downloaded is not HTML.' });
  return { url: response.url, statusCode: response.status, contentType, bytes };
}
