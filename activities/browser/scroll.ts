import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'puppeteer';
import type { IsolatedWorld } from './isolatedWorld.ts';
import { DOWN, markScrolling, SCROLLING, suppressLeaving } from './page/intersections.ts';
import { rememberShown } from './page/lists.ts';
import { findScroller, SCROLLER, scrollExtent, scrollTo } from './page/scrollers.ts';
import { hasScripts, STILL, suppressResizing } from './page/scrollHandlers.ts';
import { loadLazyContent, waitUntilPainted } from './page/settled.ts';
import {
  cancelScrollAnimations,
  extendBackdrops,
  placeFixedElements,
  releaseBackgrounds,
} from './page/wholePage.ts';
import type { RenderPage } from './pool.ts';
import { FONTS_MS, type Requests } from './requests.ts';
import { returnToTop } from './returnToTop.ts';
import { tryFor } from './tryFor.ts';

/** Pause in milliseconds after each scroll step, for content that loads when it becomes visible. */
const STEP_MS = 80;
/** Pages with more elements are not searched for lists that draw few rows, which keep a page far smaller. */
const COMPARED = 10_000;
/** Milliseconds before the end that are reserved for requests that the scrolling started. */
const REST_MS = 3_000;
/** Longest time in milliseconds to wait for these requests and for scripts after the scrolling. */
const LATEST_MS = 7_000;
const QUIET_MS = 400;
/**
 * Milliseconds to wait at the end of the page for more content, which scripts may add after a pause; when the page has grown so
 * before; and while requests are pending that began before the end was reached, or later than the first of these times after.
 */
const GROW_MS = 1_000;
const GROWN_MS = 2_500;
const LOAD_MS = 3_000;
const ANSWER_MS = 2_000;

type Scrolled = Pick<RenderPage, 'page' | 'world' | 'client'>;

/**
 * Keeps a page from hiding content again that it revealed, with an intersection observer or a scroll handler, when the
 * content was scrolled into view. Must be called before the page loads.
 */
export async function keepRevealed(page: Page): Promise<void> {
  await page.evaluateOnNewDocument(suppressLeaving, SCROLLING, DOWN);
  await page.evaluateOnNewDocument(suppressResizing, STILL);
}

/**
 * Adapts elements whose position or state depends on the viewport, such as fixed elements, to a capture of the whole
 * page.
 */
export async function layOutAsWhole(world: IsolatedWorld): Promise<void> {
  const steps = [cancelScrollAnimations, releaseBackgrounds, placeFixedElements, extendBackdrops];
  await tryFor(world.evaluateEach(steps), 2 * ANSWER_MS);
}

/**
 * Waits at the end of a page until scripts add content.
 *
 * @param since when the end was reached, in epoch milliseconds. Requests that began then are waited for until `until`
 * @returns the extent of the page
 */
async function waitForGrowth(
  { world }: Scrolled,
  requests: Requests,
  {
    extent,
    vertical,
    since,
    until,
    growMs,
  }: { extent: number; vertical: string; since: number; until: number; growMs: number },
): Promise<number> {
  let latest = Date.now() + LOAD_MS;
  let now = extent;
  for (let end = Date.now() + growMs; now <= extent && Date.now() < Math.min(end, latest, until); ) {
    await sleep(STEP_MS);
    if (requests.isWaiting) end = Date.now() + growMs;
    if (requests.isWaitingFor(since, since + GROW_MS)) latest = end;
    now = (await tryFor(world.evaluate(scrollExtent, SCROLLER, vertical), ANSWER_MS)) ?? extent;
  }
  return now;
}

/**
 * Scrolls through a page, one viewport at a time, so that lazy content loads, and on while the page grows. Waits for that
 * content and scrolls back to the start. Stops when the time is over or the ceiling is reached.
 *
 * @param until time at which to stop, epoch milliseconds
 * @param latest time at which to stop drawing what the page shows only while it is scrolled, epoch milliseconds
 * @returns whether the page has all that was seen
 */
export async function scrollThrough(
  scrolled: Scrolled,
  requests: Requests,
  { step, ceiling, until, latest }: { step: number; ceiling: number; until: number; latest: number },
): Promise<boolean> {
  const { world } = scrolled;
  await tryFor(world.evaluate(markScrolling, SCROLLING, DOWN), ANSWER_MS);
  await tryFor(world.evaluate(loadLazyContent), ANSWER_MS);
  const hasScript = (await tryFor(world.evaluate(hasScripts), ANSWER_MS)) === true;
  const found = await tryFor(world.evaluate(findScroller, SCROLLER), ANSWER_MS);
  const vertical = found?.vertical === true ? 'vertical' : '';
  let extent = found?.extent ?? 0;
  let hasGrown = false;
  const compared = hasScript ? COMPARED : 0;
  if (hasScript && extent > step) await tryFor(world.define([rememberShown]), ANSWER_MS);
  let last = 0;
  for (let at = step; at < Math.min(extent, ceiling) && Date.now() < until - REST_MS; at += step) {
    const since = Date.now();
    const now = await tryFor(world.evaluate(scrollTo, SCROLLER, at, vertical, compared), ANSWER_MS);
    if (now === undefined) break;
    extent = now;
    last = at;
    await sleep(STEP_MS);
    if (!hasScript || at + step < extent) continue;
    const growMs = hasGrown ? GROWN_MS : GROW_MS;
    const grown = await waitForGrowth(scrolled, requests, {
      extent,
      vertical,
      since,
      until: until - REST_MS,
      growMs,
    });
    hasGrown ||= grown > extent;
    extent = grown;
  }
  await tryFor(world.evaluate(loadLazyContent), ANSWER_MS);
  await tryFor(world.evaluate(markScrolling, SCROLLING, ''), ANSWER_MS);
  const end = Math.min(until, Date.now() + LATEST_MS);
  await requests.waitForIdle(QUIET_MS, end);
  // Only here have rows arrived that are requested when they come into view.
  if (last > 0 && hasScript) await tryFor(world.evaluate(rememberShown, last, COMPARED), ANSWER_MS);
  const isWhole = await returnToTop(scrolled, requests, step, { until: end, latest });
  const fontsMs = requests.hasSlowFonts ? 0 : FONTS_MS;
  await tryFor(world.evaluate(waitUntilPainted, fontsMs), Math.max(ANSWER_MS, end - Date.now()));
  return isWhole;
}
