import { ServiceError } from '../../schemas/errors.ts';
import { type Capture, type CaptureOptions, CEILING_CSS_PIXELS, capture } from './capture.ts';
import { drawFrames } from './frames.ts';
import { timed } from './metrics.ts';
import { BrowserLost, type Browsers, type Limits, type RenderPage } from './pool.ts';
import { followRequests, type Requests } from './requests.ts';
import { ensureResponsive } from './responsive.ts';
import { scrollThrough } from './scroll.ts';
import { settle } from './settle.ts';

/** "Ignored when fullPage is true", so one and the same then: parts of a page may be as high as its window. */
const FULL_PAGE_WINDOW = 900;
/** An answer holds the file in base64. */
const FILE_BYTES = 37_000_000;
/** So that the attempt is over before its time is. */
const MARGIN_MS = 1_500;
/** What a second try after a crash needs at least. */
const RETRY_MS = 10_000;

/** What is special about a page. */
export interface Script<T> {
  options: CaptureOptions;
  /** Brings the page into the tab. */
  load(renderPage: RenderPage, requests: Requests): Promise<void>;
  /** What is to be done when it is loaded and quiet. */
  prepare?(renderPage: RenderPage): Promise<void>;
  /** What is to be known of it beside its picture. */
  finish(renderPage: RenderPage, requests: Requests): Promise<T>;
}

async function makeResponsive({ page, client }: RenderPage): Promise<void> {
  if (!(await ensureResponsive(page, client))) throw new ServiceError('deadline_exceeded');
}

async function perform<T>(
  renderPage: RenderPage,
  { options, load, prepare, finish }: Script<T>,
): Promise<Capture & { rest: T }> {
  const { page, world, client, metrics } = renderPage;
  const { width, deviceScaleFactor, fullPage } = options;
  const height = fullPage ? FULL_PAGE_WINDOW : options.height;
  const requests = followRequests(page);
  // In the session that captures: another one would not know of the density.
  await client.send('Emulation.setDeviceMetricsOverride', {
    width,
    height,
    deviceScaleFactor,
    mobile: false,
    // Old style sheets ask for the width of the device.
    screenWidth: width,
    screenHeight: height,
  });
  await timed(metrics, 'navigate', () => load(renderPage, requests));
  await makeResponsive(renderPage);
  const settled = await timed(metrics, 'settle', () => settle(world, requests));
  if (!settled) await makeResponsive(renderPage);
  if (prepare) await timed(metrics, 'overlays', () => prepare(renderPage));
  if (fullPage)
    await timed(metrics, 'scroll', async () => {
      await scrollThrough(world, requests, { step: height, ceiling: CEILING_CSS_PIXELS });
      await drawFrames(renderPage);
    });
  if (prepare || fullPage) await makeResponsive(renderPage);
  const rest = await finish(renderPage, requests);
  const picture = await timed(metrics, 'capture', () => capture(client, options));
  if (picture.file.length > FILE_BYTES) throw new ServiceError('output_too_large');
  return { ...picture, rest };
}

/** What both tools that draw get. */
export interface RenderContext extends Limits {
  resource: Browsers;
}

/** Of which the work may use so many milliseconds. */
export const limitWork = (context: RenderContext, ms: number): RenderContext => ({
  ...context,
  deadline: Math.min(context.deadline, Date.now() + ms),
});

/** The picture as both tools answer it. */
export interface RenderedImage {
  fileBase64: string;
  mimeType: 'image/jpeg' | 'image/png';
  width: number;
  height: number;
  truncated: boolean;
}

/**
 * Renders a page in a browser of its own for the time.
 *
 * @throws ServiceError what the script throws; `source_too_large` when the page takes more memory than a browser may
 *   have; `target_failed` when it crashes two browsers; `deadline_exceeded`
 */
export async function render<T extends object>(
  { resource: browsers, egress, signal, deadline }: RenderContext,
  script: Script<T>,
): Promise<RenderedImage & T> {
  const limits = { egress, signal, deadline: deadline - MARGIN_MS };
  const attempt = () => browsers.run(limits, (renderPage) => perform(renderPage, script));
  try {
    // A browser may also die of what is not this page's doing.
    const { file, rest, ...size } = await attempt().catch((error: unknown) => {
      const again = error instanceof BrowserLost && error.reason === 'crashed';
      if (!again || Date.now() + RETRY_MS > limits.deadline) throw error;
      return attempt();
    });
    const mimeType = script.options.format === 'jpeg' ? 'image/jpeg' : 'image/png';
    return { fileBase64: file.toString('base64'), mimeType, ...size, ...rest };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof BrowserLost && error.reason === 'memory')
      throw new ServiceError('source_too_large', {
        detail: 'The page takes more memory than a browser may have.',
        cause: error,
      });
    if (error instanceof BrowserLost)
      throw new ServiceError('target_failed', { detail: 'The page crashes the browser.', cause: error });
    if (error instanceof DOMException && error.name === 'TimeoutError')
      throw new ServiceError('deadline_exceeded', { cause: error });
    throw error;
  }
}
