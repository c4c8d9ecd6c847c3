import type { ContinueRequestOverrides, HTTPRequest, Page, ResponseForRequest } from 'puppeteer';

/** Whether a request is allowed; or what to change of it; or the response to give instead. */
export type Decision = boolean | { changes: ContinueRequestOverrides } | Partial<ResponseForRequest>;

function answer(request: HTTPRequest, decision: Decision): Promise<void> {
  if (decision === true) return request.continue();
  if (decision !== false && 'changes' in decision) return request.continue(decision.changes);
  if (decision !== false) return request.respond(decision);
  // An aborted navigation stays on the current page, without an error page.
  return request.abort(request.isNavigationRequest() ? 'aborted' : 'blockedbyclient');
}

/** Applies `decide` to every request of a page. Resolves when interception is active. */
export async function intercept(page: Page, decide: (request: HTTPRequest) => Decision): Promise<void> {
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    // The page may be closed by then.
    answer(request, decide(request)).catch(() => undefined);
  });
}
