import type { BrowserContext, CDPSession, Page } from 'puppeteer';
import type { Chromium } from './chromium.ts';
import { type IsolatedWorld, openIsolatedWorld } from './isolatedWorld.ts';
import { refuseServiceWorkers } from './page/serviceWorkers.ts';
import { tryFor } from './tryFor.ts';

/**
 * A browser context with an empty page, prepared before the call that will use it arrives. Closing the context deletes
 * its cookies and other data.
 */
export interface PageSession {
  chromium: Chromium;
  page: Page;
  client: CDPSession;
  world: IsolatedWorld;
  /** Resolves when the page has crashed or the browser has exited. */
  lost: Promise<void>;
  /** Resolves with whether the page still responds. */
  answers(): Promise<boolean>;
  /** Closes the browser context. Resolves to true if it closed in time. */
  close(): Promise<boolean>;
}

/**
 * Time limit for opening a page. It is generous because a replacement browser would take even longer on an overloaded
 * machine.
 */
const PREPARE_MS = 20_000;
const CLOSE_MS = 5_000;
const ANSWER_MS = 10_000;

/** Answers JavaScript dialogs, which block the page: accepts `beforeunload` and dismisses all others. */
function answerDialogs(page: Page): void {
  page.on('dialog', (dialog) => {
    const answer = dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss();
    // The answer fails if the page has been closed in the meantime.
    answer.catch(() => undefined);
  });
}

/** Closes popup windows that the page opens. Closing fails only if the popup or the browser is already gone. */
function closePopups(context: BrowserContext, own: Page): void {
  context.on('targetcreated', async (target) => {
    if (target.type() !== 'page') return;
    const page = await target.page().catch(() => null);
    if (page !== null && page !== own) await page.close().catch(() => undefined);
  });
}

async function open(chromium: Chromium): Promise<PageSession> {
  const context = await chromium.browser.createBrowserContext({ downloadBehavior: { policy: 'deny' } });
  const page = await context.newPage();
  closePopups(context, page);
  answerDialogs(page);
  const [client] = await Promise.all([
    page.createCDPSession(),
    page.evaluateOnNewDocument(refuseServiceWorkers),
  ]);
  const crashed = new Promise<void>((resolve) => {
    page.once('error', () => resolve());
  });
  return {
    chromium,
    page,
    client,
    world: await openIsolatedWorld(client),
    lost: Promise.race([crashed, chromium.exited]),
    answers: async () => (await tryFor(client.send('Page.getLayoutMetrics'), ANSWER_MS)) !== undefined,
    close: async () =>
      (await tryFor(
        context.close().then(() => true),
        CLOSE_MS,
      )) === true,
  };
}

/** Opens a browser context with an empty page. @throws when the browser opens no page in time */
export async function openPageSession(chromium: Chromium): Promise<PageSession> {
  const session = await tryFor(open(chromium), PREPARE_MS);
  if (session === undefined) throw new Error('Chromium did not open a page in time');
  return session;
}
