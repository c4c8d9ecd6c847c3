import { ServiceError } from '../../schemas/errors.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { isHtml } from './sniff.ts';

/** A downloaded HTML page, not parsed yet. */
export interface Page {
  /** URL after redirects, without fragment. */
  url: string;
  /** Any status, because error pages are pages too. */
  statusCode: number;
  /** Value of the header; null when missing. */
  contentType: string | null;
  bytes: Uint8Array;
}

/** Covers DNS lookup, redirects and the whole body. */
const DOWNLOAD_MS = 15_000;
/** Limit after decompression. */
export const PAGE_BYTES = 5 * 1024 * 1024;
/** Sent by browsers for content negotiation. */
const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/**
 * Downloads a page, following redirects.
 *
 * @throws ServiceError unsupported_source when it is not HTML; source_too_large above 5 MB; target_timeout after 15 s;
 *   errors of the guard, with the pointer `/url`
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
      detail: 'The page has an unsupported Content-Encoding.',
    });
  const bytes = await response.bytes();
  // Browsers use the last one of several.
  const types = response.headers.filter(([name]) => name.toLowerCase() === 'content-type');
  const contentType = types.at(-1)?.[1] ?? null;
  if (!isHtml(bytes, contentType))
    throw new ServiceError('unsupported_source', { detail: 'The URL does not return HTML.' });
  return { url: response.url, statusCode: response.status, contentType, bytes };
}
