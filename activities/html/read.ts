import type { OffloadOptions } from '../decoders/offload.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { downloadPage, type Page } from './download.ts';

/** Milliseconds reserved for returning the result before the Temporal activity times out. */
const MARGIN_MS = 200;

/**
 * Downloads a page and passes it to `read`.
 *
 * @param workMs time limit for the download and `read` together, in milliseconds
 * @param read runs a job that parses the page
 * @throws ServiceError errors of `downloadPage` and `read`
 */
export async function readPage<O>(
  url: string,
  { egress, signal, deadline: end }: Pick<NetworkContext, 'egress' | 'signal' | 'deadline'>,
  workMs: number,
  read: (page: Page, options: OffloadOptions) => Promise<O>,
): Promise<O> {
  const deadline = Math.min(end, Date.now() + workMs) - MARGIN_MS;
  const page = await downloadPage(url, { egress, signal, deadline });
  return read(page, { signal, deadline });
}
