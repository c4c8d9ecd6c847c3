import type { OffloadOptions } from '../decoders/offload.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { downloadPage, type Page } from './download.ts';

/** Left for the answer to be written before the attempt itself is out of time. */
const MARGIN_MS = 200;

/**
 * Downloads a page and has it read.
 *
 * @param workMs milliseconds for all of it
 * @param read parses the page, in a process of its own, with these options
 * @throws ServiceError as downloadPage and `read`
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
