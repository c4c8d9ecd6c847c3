import type { Frame } from 'puppeteer';
import { CEILING_CSS_PIXELS } from './capture.ts';
import { FILLING, findFilling, setFrameHeight, setFrameStyle } from './page/frames.ts';
import { expandScroller } from './page/scrollers.ts';
import type { RenderPage } from './pool.ts';
import { tryFor } from './tryFor.ts';

const ANSWER_MS = 2_000;

const isFilling = async (frame: Frame): Promise<boolean> => {
  await using element = await frame.frameElement();
  return (await element?.evaluate((each, mark) => each.hasAttribute(mark), FILLING)) ?? false;
};

/**
 * If a frame fills the viewport and scrolls instead of the page, expands it to the height of its document. A document whose
 * own height follows from that of the frame stays as it is.
 */
export async function expandFillingFrame({ page, world }: Pick<RenderPage, 'page' | 'world'>): Promise<void> {
  const children = page.mainFrame().childFrames();
  if (children.length === 0 || (await tryFor(world.evaluate(findFilling, FILLING), ANSWER_MS)) !== true)
    return;
  const found = await Promise.all(children.map((frame) => tryFor(isFilling(frame), ANSWER_MS)));
  const frame = children[found.indexOf(true)];
  if (frame === undefined) return;
  // A frame learns its new size before its next animation frames.
  const measure = async (): Promise<number> =>
    (await tryFor(
      frame.evaluate(async () => {
        for (let count = 0; count < 2; count++)
          await new Promise((resolve) => requestAnimationFrame(resolve));
        return document.documentElement.scrollHeight;
      }),
      ANSWER_MS,
    )) ?? 0;
  const height = await measure();
  if (height === 0) return;
  const style = await tryFor(world.evaluate(setFrameHeight, FILLING, height), ANSWER_MS);
  const after = await measure();
  await tryFor(world.evaluate(setFrameStyle, FILLING, style ?? ''), ANSWER_MS);
  if (after > 0 && after <= height + 1)
    await tryFor(world.evaluate(expandScroller, FILLING, height, CEILING_CSS_PIXELS + 1), ANSWER_MS);
}
