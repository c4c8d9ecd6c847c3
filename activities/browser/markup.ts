import type { HTTPRequest, Page } from 'puppeteer';
import { type Decision, intercept } from './intercept.ts';
import { preventLeaving } from './page/preventLeaving.ts';
import type { Requests } from './requests.ts';
import { within } from './within.ts';

/**
 * Where markup is put. What a relative address names is then not to be had: the scheme is not for subresources, and the name
 * is one that the filter refuses unasked. (Of a page at `https:` Chromium asks for `http:` pictures as if they were `https:`.)
 */
const ADDRESS = 'http://markup.internal/';
/** Of what the markup may name. A `blob:` holds what its own scripts have made. */
const SUBRESOURCES = ['https:', 'data:', 'blob:'];

/** Whether a tab still holds what was put into it. */
export const isMarkup = (page: Page): boolean => page.url().startsWith(ADDRESS);

/**
 * Puts a document into a tab, which asks for what it names over TLS and cannot be left. What has not loaded in time is left
 * out.
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
      // Where it lies is nobody's business.
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
