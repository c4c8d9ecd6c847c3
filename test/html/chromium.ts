import { createServer } from 'node:http';
import type { Page, PuppeteerLifeCycleEvent } from 'puppeteer';
import { launchChromium } from '../helpers/browser.ts';
import { listen } from '../helpers/egress.ts';

/** A page, and how the server returns it. */
export interface Served {
  body: string | Uint8Array;
  contentType?: string;
}

/** A Chromium tab that can connect only to the test's server and runs only the test's scripts. */
export interface Reader {
  /** Serves the page and returns the tab that shows it; the URL is always the same. @param waitUntil default: `load` */
  open(served: Served, waitUntil?: PuppeteerLifeCycleEvent): Promise<Page>;
  url: string;
  close(): Promise<void>;
}

/**
 * Starts a browser as the reference for what a page shows. Pages run no scripts, but `noscript` elements are treated as
 * if scripting were enabled.
 */
export async function startReader(): Promise<Reader> {
  let served: Served = { body: '' };
  const server = createServer((request, response) => {
    if (request.url !== '/dir/page.html') return response.writeHead(404).end();
    response.setHeader('Content-Security-Policy', "script-src 'none'");
    if (served.contentType !== undefined) response.setHeader('Content-Type', served.contentType);
    return response.end(served.body);
  });
  const url = `http://127.0.0.1:${await listen(server)}/dir/page.html`;
  const browser = await launchChromium();
  const page = await browser.newPage();
  // The same viewport as the tool assumes for media queries in embedded style sheets.
  await page.setViewport({ width: 1440, height: 900 });
  page.setDefaultNavigationTimeout(120_000);
  return {
    url,
    async open(next, waitUntil = 'load') {
      served = next;
      await page.goto(url, { waitUntil });
      return page;
    },
    async close() {
      await browser.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
