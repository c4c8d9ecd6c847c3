import type { HTTPRequest, Page } from 'puppeteer';

/** Lets a page ask only for what `isWanted` says; resolves when it is in force. */
export async function intercept(page: Page, isWanted: (request: HTTPRequest) => boolean): Promise<void> {
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    // A page or frame that was to go elsewhere stays where it is, without a page that says so.
    const reason = request.isNavigationRequest() ? 'aborted' : 'blockedbyclient';
    const answer = isWanted(request) ? request.continue() : request.abort(reason);
    // Its page may be gone by then, and the request with it.
    answer.catch(() => undefined);
  });
}
