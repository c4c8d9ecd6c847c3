import type { NetworkContext } from '../context.ts';
import type parsePage from '../jobs/parse-page.ts';
import { downloadPage } from './download.ts';

/** Left for the answer to be written before the attempt itself is out of time. */
const MARGIN_MS = 200;

type Context = Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'>;

/**
 * Downloads a page and reads it on a thread.
 *
 * @param selector what to give the matches of; null for none
 * @throws ServiceError as downloadPage; deadline_exceeded for a page that takes too long to read
 */
export async function readPage(
  url: string,
  selector: string | null,
  { egress, offload, signal, deadline: end }: Context,
  workMs: number,
) {
  const deadline = Math.min(end, Date.now() + workMs) - MARGIN_MS;
  const page = await downloadPage(url, { egress, signal, deadline });
  const { url: finalUrl, statusCode, bytes } = page;
  const content = await offload<typeof parsePage>(
    'parse-page',
    { page, selector },
    { signal, deadline, transfer: [bytes.buffer] },
  );
  return { finalUrl, statusCode, ...content };
}
