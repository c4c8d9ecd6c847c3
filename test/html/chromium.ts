import { createServer } from 'node:http';
import type { Page, PuppeteerLifeCycleEvent } from 'puppeteer';
import { launchChromium } from '../helpers/browser.ts';
import { listen } from '../helpers/egress.ts';

/** A page as served. */
export interface Served {
  body: string | Uint8Array;
  contentType?: string;
}

/** A tab of a Chromium that reaches only our server and runs only our scripts. */
export interface Reader {
  /** Serves the page and returns the tab that shows it; the URL is always the same. @param waitUntil default: `load` */
  open(served: Served, waitUntil?: PuppeteerLifeCycleEvent): Promise<Page>;
  url: string;
  close(): Promise<void>;
}

/**
 * Starts a browser as the reference for what a page shows. Scripting counts as enabled for `noscript`, but
 * pages may run no scripts.
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
  // The window for which embedded style sheets are read.
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
