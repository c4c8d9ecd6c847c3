import type { BrowserContext, CDPSession, Page } from 'puppeteer';
import type { Chromium } from './chromium.ts';
import { type IsolatedWorld, openIsolatedWorld } from './isolatedWorld.ts';
import { refuseServiceWorkers } from './page/serviceWorkers.ts';
import { within } from './within.ts';

/** A browser context with an empty page, prepared before its call arrives. Its data ends with the context. */
export interface PageSession {
  chromium: Chromium;
  page: Page;
  client: CDPSession;
  world: IsolatedWorld;
  /** Resolves when the page has crashed or the browser has ended. */
  lost: Promise<void>;
  /** Resolves with whether the page still responds. */
  answers(): Promise<boolean>;
  /** Resolves with whether the context was closed in time. */
  close(): Promise<boolean>;
}

/** Generous: on an overloaded machine a new browser would be slower still. */
const PREPARE_MS = 20_000;
const CLOSE_MS = 5_000;
const ANSWER_MS = 10_000;

/** Answers dialogs, which block the page: accepts `beforeunload` and dismisses all others. */
function answerDialogs(page: Page): void {
  page.on('dialog', (dialog) => {
    const answer = dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss();
    // The page may be closed by then.
    answer.catch(() => undefined);
  });
}

/** Closes windows that a page opens. */
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
    answers: async () => (await within(client.send('Page.getLayoutMetrics'), ANSWER_MS)) !== undefined,
    close: async () =>
      (await within(
        context.close().then(() => true),
        CLOSE_MS,
      )) === true,
  };
}

/** Prepares a session. @throws when the browser does not open a page in time */
export async function openPageSession(chromium: Chromium): Promise<PageSession> {
  const session = await within(open(chromium), PREPARE_MS);
  if (session === undefined) throw new Error('Chromium opens no page');
  return session;
}
