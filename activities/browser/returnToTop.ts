import type { JSHandle } from 'puppeteer';
import { CEILING_CSS_PIXELS } from './capture.ts';
import { drawList } from './lists.ts';
import { isIncomplete } from './page/lists.ts';
import { expandScroller, SCROLLER, scrollExtent, scrollTo } from './page/scrollers.ts';
import {
  hasScripts,
  notifyResize,
  notifyScroll,
  pretendTallViewport,
  STILL,
  stopHandlers,
  waitForStyles,
} from './page/scrollHandlers.ts';
import type { RenderPage } from './pool.ts';
import type { Requests } from './requests.ts';
import { tryFor } from './tryFor.ts';

const ANSWER_MS = 2_000;
/** Milliseconds without a request in which scripts react: they may do so after a pause, and may load images. */
const REACT_MS = 400;
/**
 * Milliseconds without a change of a style after which scripts have finished their animations. GSAP's ScrollTrigger measures
 * the page again 500 ms after the last event of scrolling, and then animates.
 */
const STILL_MS = 600;
/** Longest time in milliseconds to wait for the animations of scripts. */
const ANIMATED_MS = 2_500;

type Restore = JSHandle<() => void>;

const undo = (restore: Restore | undefined) =>
  restore &&
  tryFor(
    restore.evaluate((run) => run()),
    ANSWER_MS,
  );

/**
 * Scrolls back to the top and expands the scroll container to its whole content. From then on, the page's scripts read a
 * viewport height above that of the page, and `resize` and `scroll` events run their handlers. Scripts that reveal blocks in
 * the viewport then reveal all blocks. Without this, scripts that run after a delay would miss blocks, and scripts that hide
 * blocks outside the viewport, in scroll handlers or in each animation frame, would hide them again.
 *
 * If the page then grows, one of its parts has a height that a script derives from the viewport. The true size is restored in
 * that case, and only handlers of scrolling run again with the other heights.
 *
 * @param viewport height of the viewport in CSS pixels
 * A list that draws only the rows around its viewport then draws all of them. If it does not, it is drawn in parts.
 *
 * @param until time at which to stop waiting for requests, epoch milliseconds
 * @param latest time at which to stop drawing a list, epoch milliseconds
 * @returns whether the page has all that was seen while it was scrolled
 */
export async function returnToTop(
  returned: Pick<RenderPage, 'page' | 'world' | 'client'>,
  requests: Requests,
  viewport: number,
  { until, latest }: { until: number; latest: number },
): Promise<boolean> {
  const { page, world } = returned;
  const measure = () => tryFor(world.evaluate(scrollExtent, SCROLLER, ''), ANSWER_MS);
  const pretend = () =>
    tryFor(page.evaluateHandle(pretendTallViewport, SCROLLER, CEILING_CSS_PIXELS), ANSWER_MS);
  const react = () => requests.waitForIdle(REACT_MS, until);
  const finishAnimations = () => {
    const longest = Math.max(0, Math.min(ANIMATED_MS, until - Date.now()));
    return tryFor(world.evaluate(waitForStyles, STILL_MS, longest), longest + ANSWER_MS);
  };

  const scripted = (await tryFor(world.evaluate(hasScripts), ANSWER_MS)) === true;
  const restore = scripted ? await pretend() : undefined;
  await tryFor(world.evaluate(scrollTo, SCROLLER, 0, ''), ANSWER_MS);
  await tryFor(world.evaluate(expandScroller, SCROLLER, 0, CEILING_CSS_PIXELS + 1), ANSWER_MS);
  if (!scripted) return true;
  const before = (await measure()) ?? 0;
  await tryFor(world.evaluate(notifyResize), ANSWER_MS);
  await tryFor(world.evaluate(notifyScroll, SCROLLER), ANSWER_MS);
  await Promise.all([react(), finishAnimations()]);
  if (((await measure()) ?? 0) > before + viewport) {
    await undo(restore);
    await tryFor(world.evaluate(notifyResize), ANSWER_MS);
    await react();
    const again = await pretend();
    await tryFor(world.evaluate(notifyScroll, SCROLLER), ANSWER_MS);
    await react();
    await undo(again);
  }
  let isWhole = (await tryFor(world.evaluate(isIncomplete), ANSWER_MS)) !== true;
  if (!isWhole) {
    await undo(restore);
    isWhole = await drawList(returned, requests, latest);
  }
  await tryFor(page.evaluate(stopHandlers, STILL), ANSWER_MS);
  return isWhole;
}
