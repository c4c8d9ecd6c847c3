import type { ContinueRequestOverrides, HTTPRequest, Page, ResponseForRequest } from 'puppeteer';

/**
 * Decision about a request: true allows it, false blocks it, `changes` modifies it, and a response answers it without
 * the network.
 */
export type Decision = boolean | { changes: ContinueRequestOverrides } | Partial<ResponseForRequest>;

function answer(request: HTTPRequest, decision: Decision): Promise<void> {
  if (decision === true) return request.continue();
  if (decision !== false && 'changes' in decision) return request.continue(decision.changes);
  if (decision !== false) return request.respond(decision);
  // With the error `aborted`, a blocked navigation stays on the current page and shows no error page.
  return request.abort(request.isNavigationRequest() ? 'aborted' : 'blockedbyclient');
}

/** Applies `decide` to every request of a page. Resolves when interception is active. */
export async function intercept(page: Page, decide: (request: HTTPRequest) => Decision): Promise<void> {
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    // The answer fails if the page has been closed in the meantime.
    answer(request, decide(request)).catch(() => undefined);
  });
}
