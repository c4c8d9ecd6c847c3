import { FRAME, findFrames, replaceFrame, showFrame } from './page/frames.ts';
import { SCROLLER, scrollTo } from './page/scrollers.ts';
import type { RenderPage } from './pool.ts';
import { tryFor } from './tryFor.ts';

const MAX_FRAMES = 20;
/**
 * Largest height of a captured frame in CSS pixels, and its largest area. A screenshot of that size at scale factor 2
 * fits into one DevTools message.
 */
const MAX_HEIGHT = 4_000;
const MAX_PIXELS = 3_000_000;
const FRAMES_MS = 3_000;
const ANSWER_MS = 2_000;

async function drawFrame(
  { world, client }: Pick<RenderPage, 'world' | 'client'>,
  index: number,
): Promise<void> {
  const box = await world.evaluate(showFrame, FRAME, index);
  if (box === null || box.width < 1 || box.height < 1) return;
  if (box.height > MAX_HEIGHT || box.width * box.height > MAX_PIXELS) return;
  const { cssLayoutViewport, cssVisualViewport } = await client.send('Page.getLayoutMetrics');
  const x = box.x + cssLayoutViewport.pageX - cssVisualViewport.pageX;
  const { data } = await client.send('Page.captureScreenshot', {
    format: 'png',
    optimizeForSpeed: true,
    clip: { ...box, x, scale: 1 },
    captureBeyondViewport: true,
  });
  await world.evaluate(replaceFrame, FRAME, index, data);
}

/**
 * Replaces each cross-origin frame below the viewport with a screenshot of the frame, because Chromium does not paint
 * such frames outside the viewport, even with `captureBeyondViewport`. Then scrolls back to the top.
 */
export async function drawFrames(renderPage: Pick<RenderPage, 'page' | 'world' | 'client'>): Promise<void> {
  if (renderPage.page.frames().length === 1) return;
  const until = Date.now() + FRAMES_MS;
  const count = (await tryFor(renderPage.world.evaluate(findFrames, FRAME, MAX_FRAMES), ANSWER_MS)) ?? 0;
  for (let index = 0; index < count && Date.now() < until; index++)
    await tryFor(drawFrame(renderPage, index), until - Date.now());
  if (count > 0) await tryFor(renderPage.world.evaluate(scrollTo, SCROLLER, 0, ''), ANSWER_MS);
}
