import type { HTTPRequest, Page } from 'puppeteer';
import { type Decision, intercept } from './intercept.ts';
import { preventLeaving } from './page/preventLeaving.ts';
import type { Requests } from './requests.ts';
import { tryFor } from './tryFor.ts';

/**
 * URL under which the caller's markup is loaded. Relative URLs in the markup do not load, because `http:` is not
 * allowed for subresources and the proxy refuses this host. The scheme is not `https:`, because on an `https:` page
 * Chromium would upgrade `http:` images to `https:`. Under `localhost` the page is a secure context all the same (Secure
 * Contexts, section 3.1), so that its scripts have `crypto.subtle`.
 */
const ADDRESS = 'http://markup.localhost/';
/** URL schemes from which the markup may load subresources. Only the markup's own scripts can create `blob:` URLs. */
const SUBRESOURCES = ['https:', 'data:', 'blob:'];

/** Whether the page still shows the caller's markup. */
export const isMarkup = (page: Page): boolean => page.url().startsWith(ADDRESS);

/**
 * Loads the caller's markup into a page that cannot navigate away and that requests files over TLS only. Files that
 * have not loaded within `timeout` are missing from the page.
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
      // Keeps the internal URL out of the Referer header of subresource requests.
      headers: { 'Referrer-Policy': 'no-referrer' },
      body: html,
    };
  };
  await Promise.all([intercept(page, decide), page.evaluateOnNewDocument(preventLeaving)]);
  const loaded = new AbortController();
  await tryFor(
    Promise.race([page.goto(ADDRESS, { timeout }), requests.fontsAreSlow(loaded.signal)]),
    timeout,
  );
  loaded.abort();
}
