import type { CDPSession } from 'puppeteer';
import { type Capture, CEILING_CSS_PIXELS } from './capture.ts';
import type { Viewport } from './emulate.ts';

/** Number of CSS pixels per inch, as CSS defines it. */
const INCH = 96;

/**
 * Prints a page to a PDF with the styles for screens.
 *
 * @param fullPage true for a single PDF page as high as the document; false for PDF pages of the size of the viewport
 * @returns the file, and the size of one PDF page in CSS pixels
 */
export async function print(
  client: CDPSession,
  { width, height }: Pick<Viewport, 'width' | 'height'>,
  fullPage: boolean,
): Promise<Capture> {
  const { cssContentSize } = await client.send('Page.getLayoutMetrics');
  const whole = Math.max(1, Math.ceil(cssContentSize.height));
  const pageHeight = fullPage ? Math.min(whole, CEILING_CSS_PIXELS) : height;
  await client.send('Emulation.setEmulatedMedia', { media: 'screen' });
  const { data } = await client.send('Page.printToPDF', {
    printBackground: true,
    paperWidth: width / INCH,
    paperHeight: pageHeight / INCH,
    ...{ marginTop: 0, marginBottom: 0, marginLeft: 0, marginRight: 0 },
    ...(fullPage && { pageRanges: '1' }),
  });
  return {
    file: Buffer.from(data, 'base64'),
    width,
    height: pageHeight,
    truncated: fullPage && whole > pageHeight,
  };
}
