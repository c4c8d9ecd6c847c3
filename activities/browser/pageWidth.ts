import { isVertical } from './page/scrollers.ts';
import type { RenderPage } from './pool.ts';
import { tryFor } from './tryFor.ts';

const ANSWER_MS = 2_000;

/**
 * Returns the width in CSS pixels of a capture of the whole page: that of the viewport. On an emulated phone or tablet, the
 * browser may lay out the page wider and zoom out. A page with vertical lines grows sideways.
 *
 * @param width width of the viewport that was asked for
 */
export async function wholeWidth(
  { client, world }: Pick<RenderPage, 'client' | 'world'>,
  width: number,
): Promise<number> {
  const { cssContentSize, cssLayoutViewport, cssVisualViewport } = await client.send('Page.getLayoutMetrics');
  const vertical = (await tryFor(world.evaluate(isVertical), ANSWER_MS)) === true;
  const shown = Math.max(width, cssLayoutViewport.clientWidth, Math.round(cssVisualViewport.clientWidth));
  // A device zooms out to a quarter at most, so that a page can be wider still.
  return vertical || shown > width ? Math.max(shown, Math.ceil(cssContentSize.width)) : shown;
}
