import { createCookieJar } from '../../egress/cookies.ts';
import { targetFailed } from '../../egress/failure.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { OffloadOptions } from '../decoders/offload.ts';
import type findRefresh from '../jobs/find-refresh.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { type DownloadedPage, downloadPage, type Page } from './download.ts';

/** Milliseconds reserved for returning the result before the Temporal activity times out. */
const MARGIN_MS = 200;
/** Largest number of pages that refer to the next one, like that of redirects. */
const MAX_REFRESHES = 10;
/** Whether a page may contain a `meta` element that refers to another page. */
const HAS_REFRESH = /http-equiv\s*=\s*(?:["']\s*)?(?:refresh|&)/i;

/** Returns bytes as text, without the zeros between the letters of UTF-16. */
const latin1Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1').replaceAll('\0', '');

/** Downloads a page that another page refers to. An invalid URL is then a fault of that page, and not of the caller. */
const follow = (url: string, limits: Parameters<typeof downloadPage>[1]): Promise<DownloadedPage> =>
  downloadPage(url, limits).catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === 'invalid_input')
      throw new ServiceError('target_refused', { cause: error });
    throw error;
  });

/**
 * Downloads a page and passes it to `read`. A `refresh` after 0 s is followed like a redirect, as browsers do.
 *
 * @param workMs time limit for the download and `read` together, in milliseconds
 * @param read runs a job that parses the page
 * @throws ServiceError errors of `downloadPage` and `read`
 */
export async function readPage<O>(
  url: string,
  {
    egress,
    offload,
    signal,
    deadline: end,
  }: Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'>,
  workMs: number,
  read: (page: Page, options: OffloadOptions) => Promise<O>,
): Promise<O> {
  const deadline = Math.min(end, Date.now() + workMs) - MARGIN_MS;
  const limits = { egress, signal, deadline, cookies: createCookieJar() };
  let next: string | null = url;
  for (let count = 0; count <= MAX_REFRESHES; count++) {
    const download = count === 0 ? downloadPage : follow;
    const { refresh, ...page }: DownloadedPage = await download(next, limits);
    const mayRefer = refresh !== null || HAS_REFRESH.test(latin1Of(page.bytes));
    next = mayRefer
      ? await offload<typeof findRefresh>('find-refresh', { page, header: refresh }, { signal, deadline })
      : null;
    if (next === null) return read(page, { signal, deadline });
  }
  throw targetFailed('redirects');
}
