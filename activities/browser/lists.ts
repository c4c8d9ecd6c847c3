import { CEILING_CSS_PIXELS } from './capture.ts';
import { captureClip } from './captureClip.ts';
import { collapseScroller, keepPart, prepareParts, replaceContent, showPart } from './page/lists.ts';
import { expandScroller, SCROLLER } from './page/scrollers.ts';
import { notifyResize } from './page/scrollHandlers.ts';
import type { RenderPage } from './pool.ts';
import type { Requests } from './requests.ts';
import { tryFor } from './tryFor.ts';

const ANSWER_MS = 2_000;
const PART_MS = 4_000;
/** Milliseconds without a request after which a part counts as drawn, and the longest time to wait for it. */
const QUIET_MS = 80;
const LOAD_MS = 1_000;
/** Largest number of device pixels of all parts, which take 4 bytes each in the memory of the page. */
const MAX_PIXELS = 64_000_000;

type Listed = Pick<RenderPage, 'world' | 'client'>;

/** Draws the content of the scroll container from the top, part by part. @returns whether all of it was drawn */
async function drawParts({ world, client }: Listed, requests: Requests, until: number): Promise<boolean> {
  let pixels = 0;
  for (let from = 0; from < CEILING_CSS_PIXELS && Date.now() < until; ) {
    const part = await tryFor(world.evaluate(showPart, SCROLLER, from), ANSWER_MS);
    if (part == null || part.width < 1 || part.height < 1) return false;
    await requests.waitForIdle(QUIET_MS, Math.min(until, Date.now() + LOAD_MS));
    const { left, x, y, width, height } = part;
    const { cssLayoutViewport } = await client.send('Page.getLayoutMetrics');
    const clip = { x: x + cssLayoutViewport.pageX, y: y + cssLayoutViewport.pageY, width, height };
    const picture = await tryFor(captureClip(client, clip, cssLayoutViewport), PART_MS);
    if (picture === undefined) return false;
    // Width and height of a PNG are at a fixed place in its first chunk.
    const header = Buffer.from(picture.slice(0, 32), 'base64');
    pixels += header.readUInt32BE(16) * header.readUInt32BE(20);
    if (pixels > MAX_PIXELS) return false;
    if ((await tryFor(world.evaluate(keepPart, picture), ANSWER_MS)) === undefined) return false;
    if (left < 1) return true;
    from += height;
  }
  return false;
}

/**
 * Draws a list that shows only the rows around its viewport and does not follow the height of its box: the box is scrolled
 * through as a visitor does, and its content replaced by the pictures.
 *
 * @param until when the last part may begin, in epoch milliseconds
 * @returns whether the whole list is drawn
 */
export async function drawList(listed: Listed, requests: Requests, until: number): Promise<boolean> {
  const { world } = listed;
  if ((await tryFor(world.evaluate(collapseScroller, SCROLLER), ANSWER_MS)) !== true) return false;
  await tryFor(world.evaluate(notifyResize), ANSWER_MS);
  await tryFor(world.evaluate(prepareParts, SCROLLER), ANSWER_MS);
  const isWhole = await drawParts(listed, requests, until);
  await tryFor(world.evaluate(replaceContent, SCROLLER), ANSWER_MS);
  await tryFor(world.evaluate(expandScroller, SCROLLER, 0, CEILING_CSS_PIXELS + 1), ANSWER_MS);
  return isWhole;
}
