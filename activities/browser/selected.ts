import { setTimeout as sleep } from 'node:timers/promises';
import { invalidInput } from '../../schemas/errors.ts';
import { drawFrames } from './frames.ts';
import type { IsolatedWorld } from './isolatedWorld.ts';
import { markScrolling, SCROLLING } from './page/intersections.ts';
import {
  type Box,
  isolateSelected,
  isShown,
  markTall,
  SELECTED,
  scrollOver,
  scrollToSelected,
} from './page/selected.ts';
import { loadLazyContent, waitUntilPainted } from './page/settled.ts';
import type { RenderPage } from './pool.ts';
import { FONTS_MS, type Requests } from './requests.ts';
import { tryFor } from './tryFor.ts';

const WAIT_MS = 10_000;
const POLL_MS = 50;
const ANSWER_MS = 2_000;
const QUIET_MS = 300;
const REST_MS = 3_000;
/** Longest time in milliseconds to scroll over the selected element. */
const SCROLL_MS = 4_000;

/**
 * Waits until a CSS selector matches a visible element.
 *
 * @param pointer JSON Pointer of the selector in the tool's input
 * @throws ServiceError invalid_input when no visible element matches within 10 s
 */
async function waitForSelector(world: IsolatedWorld, selector: string, pointer: string): Promise<void> {
  const until = Date.now() + WAIT_MS;
  for (;;) {
    const shown = await tryFor(world.evaluate(isShown, selector), ANSWER_MS);
    if (shown === true) return;
    if (shown === null) throw invalidInput([{ pointer, message: 'is not a valid CSS selector' }]);
    if (Date.now() >= until)
      throw invalidInput([{ pointer, message: 'matches no visible element of the page within 10 s' }]);
    await sleep(POLL_MS);
  }
}

/**
 * Waits for a number of milliseconds, or until a CSS selector matches a visible element.
 *
 * @throws ServiceError invalid_input
 */
export async function waitFor(
  world: IsolatedWorld,
  target: string | number,
  signal: AbortSignal,
): Promise<void> {
  if (typeof target === 'number') await sleep(target, undefined, { signal });
  else await waitForSelector(world, target, '/waitFor');
}

type Shown = Pick<RenderPage, 'page' | 'world' | 'client'>;

/** Loads and draws what a marked element that is higher than the viewport contains, as for a capture of the whole page. */
async function showTall(shown: Shown, requests: Requests, latest: number): Promise<void> {
  const { world } = shown;
  await tryFor(world.evaluate(markScrolling, SCROLLING, ''), ANSWER_MS);
  await tryFor(world.evaluate(loadLazyContent), ANSWER_MS);
  await tryFor(world.evaluate(scrollOver, SELECTED, SCROLL_MS), SCROLL_MS + ANSWER_MS);
  await requests.waitForIdle(QUIET_MS, Date.now() + REST_MS);
  // Frames that are then outside the viewport are drawn.
  await tryFor(world.evaluate(scrollToSelected, `[${SELECTED}]`), ANSWER_MS);
  await drawFrames(shown, latest);
}

/**
 * Scrolls the selected element into view and hides the elements that cover it.
 *
 * @param latest when the frames in it must have been drawn, in epoch milliseconds
 * @returns the element's box, relative to the viewport
 * @throws ServiceError invalid_input when no visible element matches or the element has no size
 */
export async function showSelected(
  shown: Shown,
  requests: Requests,
  selector: string,
  latest: number,
): Promise<Box> {
  const { world } = shown;
  await waitForSelector(world, selector, '/selector');
  let found = selector;
  const show = () => tryFor(world.evaluate(scrollToSelected, found), ANSWER_MS);
  await show();
  if ((await tryFor(world.evaluate(markTall, selector, SELECTED), ANSWER_MS)) === true) {
    await showTall(shown, requests, latest);
    // A script can have replaced the element, and `drawFrames` a frame that is selected itself.
    found = `[${SELECTED}],${selector}`;
    await show();
  }
  await requests.waitForIdle(QUIET_MS, Date.now() + REST_MS);
  const fontsMs = requests.hasSlowFonts ? 0 : FONTS_MS;
  await tryFor(world.evaluate(waitUntilPainted, fontsMs), fontsMs + ANSWER_MS);
  const box = await tryFor(world.evaluate(isolateSelected, found), ANSWER_MS);
  if (box === null || box === undefined || box.width < 1 || box.height < 1)
    throw invalidInput([{ pointer: '/selector', message: 'matches an element without a size' }]);
  return box;
}
