import type { HTTPRequest, Page } from 'puppeteer';
import { type Decision, intercept } from './intercept.ts';
import { preventLeaving } from './page/preventLeaving.ts';
import type { Requests } from './requests.ts';
import { within } from './within.ts';

/**
 * Address of the document. Relative URLs do not load: `http:` is not allowed for subresources, and the proxy refuses the
 * name. (On an `https:` page Chromium would upgrade `http:` images to `https:`.)
 */
const ADDRESS = 'http://markup.internal/';
/** Allowed schemes of subresources. A `blob:` is created by the markup's own scripts. */
const SUBRESOURCES = ['https:', 'data:', 'blob:'];

/** Whether the page still shows the supplied document. */
export const isMarkup = (page: Page): boolean => page.url().startsWith(ADDRESS);

/**
 * Loads a supplied document into a page that cannot navigate away and requests files over TLS only. Files that have not
 * loaded in time are left out.
 *
 * @param timeout milliseconds
 */
export async function loadMarkup(
  page: Page,
  requests: Requests,
  html: string,
  timeout: number,
): Promise<void> {
  let put = false;
  const decide = (request: HTTPRequest): Decision => {
    const isPage = request.isNavigationRequest() && request.frame() === page.mainFrame();
    if (!isPage) return SUBRESOURCES.includes(URL.parse(request.url())?.protocol ?? '');
    if (put) return false;
    put = true;
    return {
      contentType: 'text/html; charset=utf-8',
      // The address is internal.
      headers: { 'Referrer-Policy': 'no-referrer' },
      body: html,
    };
  };
  await Promise.all([intercept(page, decide), page.evaluateOnNewDocument(preventLeaving)]);
  const loaded = new AbortController();
  await within(
    Promise.race([page.goto(ADDRESS, { timeout }), requests.fontsAreSlow(loaded.signal)]),
    timeout,
  );
  loaded.abort();
}
