import { captureClip } from './captureClip.ts';
import { FRAME, findFrames, replaceFrame, showFrame } from './page/frames.ts';
import { SCROLLER, scrollTo } from './page/scrollers.ts';
import type { RenderPage } from './pool.ts';
import { tryFor } from './tryFor.ts';

const MAX_FRAMES = 60;
/** Largest area of a captured frame in CSS pixels. At scale factor 2, its canvas takes 256 MB. */
const MAX_PIXELS = 16_000_000;
/** Longest time in milliseconds for all frames. They take it only on a machine with many other calls: a frame left out is white. */
const FRAMES_MS = 15_000;
const ANSWER_MS = 2_000;

async function drawFrame(
  { world, client }: Pick<RenderPage, 'world' | 'client'>,
  index: number,
  until: number,
): Promise<void> {
  for (let from = 0; Date.now() < until; ) {
    const piece = await world.evaluate(showFrame, FRAME, index, from);
    if (piece === null || piece.width < 1 || piece.height < 1) return;
    const { x, y, width, height, left } = piece;
    if (width * (from + height + left) > MAX_PIXELS) return;
    const { cssLayoutViewport, cssVisualViewport } = await client.send('Page.getLayoutMetrics');
    const shift = cssLayoutViewport.pageX - cssVisualViewport.pageX;
    const picture = await captureClip(client, { x: x + shift, y, width, height }, cssLayoutViewport);
    await world.evaluate(replaceFrame, FRAME, index, picture, from, height, left);
    if (left <= 0) return;
    from += height;
  }
}

/**
 * Replaces each cross-origin frame outside the viewport with a screenshot of the frame, because Chromium does not paint
 * such frames outside the viewport, even with `captureBeyondViewport`. Then scrolls back to the top.
 *
 * @param latest when it must have ended, in epoch milliseconds
 */
export async function drawFrames(
  renderPage: Pick<RenderPage, 'page' | 'world' | 'client'>,
  latest: number,
): Promise<void> {
  if (renderPage.page.frames().length === 1) return;
  const until = Math.min(latest, Date.now() + FRAMES_MS);
  const count = (await tryFor(renderPage.world.evaluate(findFrames, FRAME, MAX_FRAMES), ANSWER_MS)) ?? 0;
  for (let index = 0; index < count && Date.now() < until; index++)
    await tryFor(drawFrame(renderPage, index, until), until - Date.now());
  if (count > 0) await tryFor(renderPage.world.evaluate(scrollTo, SCROLLER, 0, ''), ANSWER_MS);
}
