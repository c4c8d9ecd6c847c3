import { type Capture, CEILING_CSS_PIXELS } from './capture.ts';
import { type Emulation, featuresOf, type Viewport } from './emulate.ts';
import { keepLayout, LAYOUT, printOnOnePage, recordLayout } from './page/printed.ts';
import type { RenderPage } from './pool.ts';
import { stopScripts } from './stopScripts.ts';
import { tryFor } from './tryFor.ts';

/** Number of CSS pixels per inch, as CSS defines it. */
const INCH = 96;
/** Parts of a page are restored from the inside out, so this takes some rounds. */
const ROUNDS = 16;
const RESTORE_MS = 10_000;
const ANSWER_MS = 8_000;
/** Milliseconds before the deadline that are kept for the print itself. */
const PRINT_MS = 6_000;
/** Names in media queries whose answer depends on the height of the viewport. */
const VIEWPORT_MEDIA = 'height|aspect-ratio|orientation';

type Printed = Pick<RenderPage, 'client' | 'world'>;

const contentHeight = async ({ client }: Printed): Promise<number> =>
  Math.max(1, Math.ceil((await client.send('Page.getLayoutMetrics')).cssContentSize.height));

/**
 * Prepares a page for printing on one PDF page as it is on the screen. For printing, Chromium lays out the page in a viewport
 * as high as the PDF page: a part as high as the viewport would grow to the height of the document, and a bar at the bottom
 * of the viewport would leave its place. Hence the layout is recorded, the viewport is made as high as the document, and what
 * this changes is set back.
 *
 * @param width width of the viewport in CSS pixels
 * @param latest when it must have ended, in epoch milliseconds. Without time, the page is printed as Chromium lays it out
 * @returns height of the document in CSS pixels
 */
async function layOutOnOnePage(printed: Printed, width: number, latest: number): Promise<number> {
  const { client, world } = printed;
  const timeFor = (ms: number) => Math.min(ms, latest - Date.now());
  const height = await contentHeight(printed);
  await stopScripts(printed, VIEWPORT_MEDIA, Math.max(0, timeFor(ANSWER_MS)));
  if (timeFor(1) > 0) await tryFor(world.evaluate(recordLayout, LAYOUT), timeFor(ANSWER_MS));
  const paper = Math.min(height, CEILING_CSS_PIXELS);
  await client.send('Emulation.setDeviceMetricsOverride', {
    ...{ width, height: paper, deviceScaleFactor: 1, mobile: false },
    ...{ screenWidth: width, screenHeight: paper },
  });
  const until = Math.min(latest, Date.now() + RESTORE_MS);
  for (let round = 0; round < ROUNDS && Date.now() < until; round++)
    if (((await tryFor(world.evaluate(keepLayout, LAYOUT), timeFor(ANSWER_MS))) ?? 0) === 0) break;
  // Where the layout could not be restored, the page is higher and the PDF page with it, so that nothing is lost.
  return contentHeight(printed);
}

/**
 * Prints a page to a PDF with the styles for screens.
 *
 * @param fullPage true for a single PDF page as high as the document; false for PDF pages of the size of the viewport
 * @param deadline when the call ends, in epoch milliseconds
 * @returns the file, and the size of one PDF page in CSS pixels
 */
export async function print(
  printed: Printed,
  {
    width: wanted,
    height,
    fullPage,
    ...emulation
  }: Emulation & Pick<Viewport, 'width' | 'height'> & { fullPage: boolean },
  deadline: number,
): Promise<Capture> {
  const { client, world } = printed;
  await client.send('Emulation.setEmulatedMedia', { media: 'screen', features: featuresOf(emulation) });
  const width = Math.min(wanted, CEILING_CSS_PIXELS);
  const whole = fullPage ? await layOutOnOnePage(printed, width, deadline - PRINT_MS) : height;
  const pageHeight = Math.min(whole, CEILING_CSS_PIXELS);
  if (fullPage) await tryFor(world.evaluate(printOnOnePage, width, pageHeight), ANSWER_MS);
  const { data } = await client.send('Page.printToPDF', {
    printBackground: true,
    paperWidth: width / INCH,
    paperHeight: pageHeight / INCH,
    ...{ marginTop: 0, marginBottom: 0, marginLeft: 0, marginRight: 0 },
    ...(fullPage && { pageRanges: '1', preferCSSPageSize: true }),
  });
  return {
    file: Buffer.from(data, 'base64'),
    width,
    height: pageHeight,
    truncated: whole > pageHeight || wanted > width,
  };
}
