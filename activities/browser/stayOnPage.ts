import { preventLeaving } from './page/preventLeaving.ts';
import type { RenderPage } from './pool.ts';
import type { Requests } from './requests.ts';
import { tryFor } from './tryFor.ts';

const ANSWER_MS = 2_000;

/**
 * Keeps a page from being replaced by another one, for example by its own `refresh` or by a script, while it is captured.
 * The documents of its frames may still change.
 */
export async function stayOnPage(
  { page, client, world: { frameId } }: Pick<RenderPage, 'page' | 'client' | 'world'>,
  requests: Requests,
): Promise<void> {
  client.on('Fetch.requestPaused', ({ requestId, ...paused }) => {
    const answer =
      paused.frameId === frameId
        ? client.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' })
        : client.send('Fetch.continueRequest', { requestId });
    // The answer fails if the page has been closed in the meantime.
    answer.catch(() => undefined);
  });
  await client.send('Fetch.enable', { patterns: [{ resourceType: 'Document', requestStage: 'Request' }] });
  if (requests.isLeaving) await tryFor(client.send('Page.stopLoading'), ANSWER_MS);
  await tryFor(page.evaluate(preventLeaving), ANSWER_MS);
}
