import { TimeoutError } from 'puppeteer';
import { assertPage, explainNavigation, noPage } from './failure.ts';
import type { Limits, Tab } from './pool.ts';
import type { Requests } from './requests.ts';

const LOAD_MS = 30_000;
/** Chromium shows these in a viewer of its own, which is no page. */
const NO_PAGE = /^application\/pdf\b/i;

/** Milliseconds that a page may take to load: half of what is left at most, so that there is time to draw what has come. */
export const loadTime = ({ deadline }: Pick<Limits, 'deadline'>): number =>
  Math.max(1, Math.min(LOAD_MS, (deadline - Date.now()) / 2));

/** Loads a page. One that came but never says that it is loaded is good enough. @throws ServiceError */
export async function navigate(tab: Tab, requests: Requests, url: string, limits: Limits): Promise<void> {
  const { page } = tab;
  try {
    const response = await page.goto(url, { timeout: loadTime(limits), waitUntil: 'load' });
    if (NO_PAGE.test(response?.headers()['content-type'] ?? '')) throw noPage();
    await assertPage(tab, requests, limits);
  } catch (error) {
    const came = error instanceof TimeoutError && /^https?:/.test(page.url());
    if (!came) throw await explainNavigation(error, tab, requests, limits);
  }
}
