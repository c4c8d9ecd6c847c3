import { createServer } from 'node:http';
import type { Page } from 'puppeteer';
import { launchChromium } from '../helpers/browser.ts';
import { listen } from '../helpers/egress.ts';

/** A page as a server gives it. */
export interface Served {
  body: string | Uint8Array;
  contentType?: string;
}

/** One tab of a Chromium that reaches nothing but our server and runs no scripts but ours. */
export interface Reader {
  /** Opens a page and gives the tab that shows it; its address is always the same. */
  open(served: Served): Promise<Page>;
  url: string;
  close(): Promise<void>;
}

/** Starts a browser as the measure of what a page shows. Scripting is on for `noscript`, and forbidden to pages. */
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
  return {
    url,
    async open(next) {
      served = next;
      await page.goto(url, { waitUntil: 'load' });
      return page;
    },
    async close() {
      await browser.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
