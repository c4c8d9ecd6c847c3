import type { CookieJar } from '../../egress/cookies.ts';
import type { Header } from '../../egress/response.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { isHtml } from './sniff.ts';

/** A downloaded HTML page, not parsed yet. */
export interface Page {
  /** URL of the page after redirects, without its fragment. */
  url: string;
  /** HTTP status of the response. Any status is possible, because error pages are pages too. */
  statusCode: number;
  /** Value of the Content-Type header; null when missing. */
  contentType: string | null;
  bytes: Uint8Array;
}

/** A page with the value of its `Refresh` header; null when missing. */
export interface DownloadedPage extends Page {
  refresh: string | null;
}

/** Time limit in milliseconds for the whole download, including DNS lookup and redirects. */
const DOWNLOAD_MS = 15_000;
/** Largest page in bytes, after decompression. */
export const PAGE_BYTES = 5 * 1024 * 1024;
/** The headers for content negotiation that browsers send when they load a page, without which some servers refuse it. */
export const PAGE_HEADERS: readonly Header[] = [
  ['Accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
  ['Accept-Language', 'en-US,en;q=0.9'],
];

/**
 * Downloads a page and follows redirects.
 *
 * @param cookies those of the pages before it, to which its own are added
 *
 * @throws ServiceError unsupported_source when the page is not HTML; source_too_large above 5 MB; target_timeout after
 *   15 s; errors of the egress guard, with the pointer `/url`
 */
export async function downloadPage(
  url: string,
  {
    egress,
    signal,
    deadline,
    cookies,
  }: Pick<NetworkContext, 'egress' | 'signal' | 'deadline'> & { cookies?: CookieJar },
): Promise<DownloadedPage> {
  const target = egress.parseTarget(url, { kind: 'url', pointer: '/url' });
  using response = await egress.fetch(target, {
    headers: PAGE_HEADERS,
    ...(cookies !== undefined && { cookies }),
    maxBytes: PAGE_BYTES,
    signal,
    deadline: Math.min(deadline, Date.now() + DOWNLOAD_MS),
  });
  if (!response.decoded)
    throw new ServiceError('unsupported_source', {
      detail: 'The page has an unsupported Content-Encoding.',
    });
  const bytes = await response.bytes();
  // If there are several Content-Type headers, browsers use the last one.
  const types = response.headers.filter(([name]) => name.toLowerCase() === 'content-type');
  const contentType = types.at(-1)?.[1] ?? null;
  if (!isHtml(bytes, contentType))
    throw new ServiceError('unsupported_source', { detail: 'The URL does not return HTML.' });
  const refresh = response.headers.find(([name]) => name.toLowerCase() === 'refresh')?.[1] ?? null;
  return { refresh, url: response.url, statusCode: response.status, contentType, bytes };
}
