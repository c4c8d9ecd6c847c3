import type { HTTPRequest, Page, ResponseForRequest } from 'puppeteer';

/** Whether a page gets what it asks for; or what it gets in its place. */
export type Decision = boolean | Partial<ResponseForRequest>;

function answer(request: HTTPRequest, decision: Decision): Promise<void> {
  if (decision === true) return request.continue();
  if (decision !== false) return request.respond(decision);
  // A page or frame that was to go elsewhere stays where it is, without a page that says so.
  return request.abort(request.isNavigationRequest() ? 'aborted' : 'blockedbyclient');
}

/** Lets a page have only what `decide` says; resolves when it is in force. */
export async function intercept(page: Page, decide: (request: HTTPRequest) => Decision): Promise<void> {
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    // Its page may be gone by then, and the request with it.
    answer(request, decide(request)).catch(() => undefined);
  });
}
