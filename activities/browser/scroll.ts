import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'puppeteer';
import type { IsolatedWorld } from './isolatedWorld.ts';
import { markScrolling, SCROLLING, suppressLeaving } from './page/intersections.ts';
import { findScroller, SCROLLER, scrollTo } from './page/scrollers.ts';
import { STILL, suppressResizing } from './page/scrollHandlers.ts';
import { loadLazyContent, waitUntilPainted } from './page/settled.ts';
import { cancelScrollAnimations, placeFixedElements, releaseBackgrounds } from './page/wholePage.ts';
import type { RenderPage } from './pool.ts';
import { FONTS_MS, type Requests } from './requests.ts';
import { returnToTop } from './returnToTop.ts';
import { tryFor } from './tryFor.ts';

const SCROLL_MS = 8_000;
/** Pause in milliseconds after each scroll step, for content that loads when it becomes visible. */
const STEP_MS = 80;
/** Part of SCROLL_MS that is reserved for requests that the scrolling started. */
const REST_MS = 3_000;
const QUIET_MS = 400;
const ANSWER_MS = 2_000;

type Scrolled = Pick<RenderPage, 'page' | 'world'>;

/**
 * Keeps a page from hiding content again that it revealed, with an intersection observer or a scroll handler, when the
 * content was scrolled into view. Must be called before the page loads.
 */
export async function keepRevealed(page: Page): Promise<void> {
  await page.evaluateOnNewDocument(suppressLeaving, SCROLLING);
  await page.evaluateOnNewDocument(suppressResizing, STILL);
}

/**
 * Adapts elements whose position or state depends on the viewport, such as fixed elements, to a capture of the whole
 * page.
 */
export async function layOutAsWhole(world: IsolatedWorld): Promise<void> {
  for (const step of [cancelScrollAnimations, releaseBackgrounds, placeFixedElements])
    await tryFor(world.evaluate(step), ANSWER_MS);
}

/**
 * Scrolls through a page, one viewport at a time, so that lazy content loads. Waits for that content and scrolls back
 * to the top. Stops when the time is over or the ceiling is reached.
 */
export async function scrollThrough(
  scrolled: Scrolled,
  requests: Requests,
  { step, ceiling }: { step: number; ceiling: number },
): Promise<void> {
  const { world } = scrolled;
  const until = Date.now() + SCROLL_MS;
  await tryFor(world.evaluate(markScrolling, SCROLLING), ANSWER_MS);
  await tryFor(world.evaluate(loadLazyContent), ANSWER_MS);
  let height = (await tryFor(world.evaluate(findScroller, SCROLLER), ANSWER_MS)) ?? 0;
  for (let top = step; top < Math.min(height, ceiling) && Date.now() < until - REST_MS; top += step) {
    const now = await tryFor(world.evaluate(scrollTo, SCROLLER, top), ANSWER_MS);
    if (now === undefined) break;
    height = now;
    await sleep(STEP_MS);
  }
  await tryFor(world.evaluate(loadLazyContent), ANSWER_MS);
  await requests.waitForIdle(QUIET_MS, until);
  await returnToTop(scrolled, requests, step, until);
  const fontsMs = requests.hasSlowFonts ? 0 : FONTS_MS;
  await tryFor(world.evaluate(waitUntilPainted, fontsMs), Math.max(ANSWER_MS, until - Date.now()));
}
