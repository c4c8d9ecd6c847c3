import type { Frame } from 'puppeteer';
import { CEILING_CSS_PIXELS } from './capture.ts';
import type { Viewport } from './emulate.ts';
import type { RenderPage } from './pool.ts';
import { tryFor } from './tryFor.ts';

const ANSWER_MS = 2_000;
/** A frame that gets a share of the height needs some rounds until it shows all. */
const ROUNDS = 12;

/** Returns the largest height in CSS pixels that a frame of a frameset, at any depth, hides of its document. */
async function hiddenHeight(frame: Frame): Promise<number> {
  const hidden = await tryFor(
    frame.evaluate(async () => {
      // A frame learns its new size before its next animation frames.
      for (let count = 0; count < 2; count++) await new Promise((resolve) => requestAnimationFrame(resolve));
      const { body, documentElement } = document;
      return body instanceof HTMLFrameSetElement ? null : documentElement.scrollHeight - innerHeight;
    }),
    ANSWER_MS,
  );
  if (hidden !== null) return hidden ?? 0;
  return Math.max(0, ...(await Promise.all(frame.childFrames().map(hiddenHeight))));
}

/**
 * If the page is a frameset, which shares out the viewport and never scrolls, makes the viewport so high that its frames show
 * their whole documents.
 */
export async function expandFrameset(
  { page, world, client }: Pick<RenderPage, 'page' | 'world' | 'client'>,
  { width, height, deviceScaleFactor }: Viewport,
): Promise<void> {
  const isFrameset = world.evaluate(() => document.body instanceof HTMLFrameSetElement);
  if ((await tryFor(isFrameset, ANSWER_MS)) !== true) return;
  let last = Number.POSITIVE_INFINITY;
  let whole = height;
  for (let round = 0; round < ROUNDS; round++) {
    const hidden = await hiddenHeight(page.mainFrame());
    // The height of a document that follows from that of its frame never shows whole.
    if (hidden <= 0 || hidden >= last || whole > CEILING_CSS_PIXELS) return;
    last = hidden;
    whole = Math.min(CEILING_CSS_PIXELS + 1, whole + hidden);
    await client.send('Emulation.setDeviceMetricsOverride', {
      ...{ width, height: whole, deviceScaleFactor, mobile: false },
      ...{ screenWidth: width, screenHeight: whole },
    });
  }
}
