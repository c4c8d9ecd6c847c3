import type { CDPSession, Protocol } from 'puppeteer';

/** A part of a page in CSS pixels from the top left corner of its content. */
type Clip = Omit<Protocol.Page.Viewport, 'scale'>;

/**
 * Captures a part of a page. Only for a part that lies beyond the viewport, Chromium changes the size of the viewport, which scripts of
 * the page see.
 *
 * @returns a PNG in base64
 */
export async function captureClip(
  client: CDPSession,
  clip: Clip,
  { pageX, pageY, clientWidth, clientHeight }: Protocol.Page.LayoutViewport,
): Promise<string> {
  const { x, y, width, height } = clip;
  const { data } = await client.send('Page.captureScreenshot', {
    format: 'png',
    optimizeForSpeed: true,
    clip: { ...clip, scale: 1 },
    captureBeyondViewport:
      x < pageX || y < pageY || x + width > pageX + clientWidth || y + height > pageY + clientHeight,
  });
  return data;
}
