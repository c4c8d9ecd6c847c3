import type { CDPSession } from 'puppeteer';
import type { Requests } from './requests.ts';
import { tryFor } from './tryFor.ts';

const ANSWER_MS = 2_000;

/**
 * Keeps a page from being replaced by another one, for example by its own `refresh` or by a script, while it is captured.
 * The documents of its frames may still change.
 *
 * @param frameId id of the page's main frame in the DevTools protocol
 */
export async function stayOnPage(client: CDPSession, requests: Requests, frameId: string): Promise<void> {
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
}
