import { ServiceError } from '../../schemas/errors.ts';
import {
  type Capture,
  type CaptureOptions,
  CEILING_CSS_PIXELS,
  capture,
  isBeyondViewport,
} from './capture.ts';
import { findClosedRoots } from './closedRoots.ts';
import { type Emulation, emulate, viewportOf } from './emulate.ts';
import { expandFillingFrame } from './fillingFrame.ts';
import { drawFrames } from './frames.ts';
import { expandFrameset } from './frameset.ts';
import { timed } from './metrics.ts';
import type { LoadTime } from './navigate.ts';
import { wholeWidth } from './pageWidth.ts';
import { BrowserLost, type Browsers, type Limits, type RenderPage } from './pool.ts';
import { print } from './print.ts';
import { followRequests, type Requests } from './requests.ts';
import { ensureResponsive } from './responsive.ts';
import { keepRevealed, layOutAsWhole, scrollThrough } from './scroll.ts';
import { showSelected, waitFor } from './selected.ts';
import { settle } from './settle.ts';
import { stayOnPage } from './stayOnPage.ts';
import { stopScripts } from './stopScripts.ts';

/** Height of the viewport in CSS pixels for `fullPage`, which ignores the requested height. */
const FULL_PAGE_WINDOW = 900;
/** Largest file in bytes. Encoded in base64, it stays below the output limit of 50 MB. */
const FILE_BYTES = 37_000_000;
/** Longest time in milliseconds to scroll through a page. It passes only while the page grows. */
const SCROLL_MS = 15_000;
/** Milliseconds before the deadline that are reserved for the capture. */
const CAPTURE_MS = 12_000;
/** The same for a PDF of the whole page, whose layout is recorded and restored before it is printed. */
const WHOLE_PDF_MS = 24_000;
/** Milliseconds reserved before the deadline for returning the result or the error. */
const MARGIN_MS = 1_500;
/** After a crash, a second attempt is made only if at least this many milliseconds remain before the deadline. */
const RETRY_MS = 10_000;

/** Options for rendering a page, named as in the input of the tools. */
interface RenderOptions extends Omit<CaptureOptions, 'format' | 'box'>, Emulation {
  format: CaptureOptions['format'] | 'pdf';
  /** CSS selector of the element to capture. */
  selector?: string | undefined;
  /**
   * Condition to wait for before the capture: a CSS selector that must match a visible element, or a number of milliseconds.
   */
  waitFor?: string | number | undefined;
}

/** The steps of rendering that differ between tools. */
interface Script<T> {
  options: RenderOptions;
  load(renderPage: RenderPage, requests: Requests): Promise<void>;
  /** Runs after the page has loaded and is idle, before the capture. */
  prepare?(renderPage: RenderPage): Promise<void>;
  /** Returns the tool's output fields other than those of the captured file. */
  finish(renderPage: RenderPage, requests: Requests): Promise<T>;
}

async function makeResponsive({ page, client }: RenderPage): Promise<void> {
  if (!(await ensureResponsive(page, client))) throw new ServiceError('deadline_exceeded');
}

async function perform<T>(
  renderPage: RenderPage,
  { options, load, prepare, finish }: Script<T>,
  { signal, deadline }: Pick<Limits, 'signal' | 'deadline'>,
): Promise<Capture & { rest: T }> {
  const { page, world, client, metrics } = renderPage;
  const { fullPage, format, selector } = options;
  const viewport = viewportOf(options);
  const latest = deadline - (format === 'pdf' && fullPage ? WHOLE_PDF_MS : CAPTURE_MS);
  const height = fullPage && options.device === undefined ? FULL_PAGE_WINDOW : viewport.height;
  const [requests] = await Promise.all([
    followRequests(page, client, world.frameId),
    emulate(renderPage, options, { ...viewport, height }),
    fullPage || selector !== undefined ? keepRevealed(page) : undefined,
  ]);
  await timed(metrics, 'navigate', () => load(renderPage, requests));
  await makeResponsive(renderPage);
  const settled = await timed(metrics, 'settle', () => settle(world, requests));
  if (!settled) await makeResponsive(renderPage);
  if (options.waitFor !== undefined) await waitFor(world, options.waitFor, signal);
  if (prepare) await timed(metrics, 'overlays', () => prepare(renderPage));
  await stayOnPage(renderPage, requests);
  let isWhole = true;
  if (fullPage)
    await timed(metrics, 'scroll', async () => {
      await findClosedRoots(client, world);
      await expandFillingFrame(renderPage);
      if (options.device === undefined) await expandFrameset(renderPage, { ...viewport, height });
      isWhole = await scrollThrough(renderPage, requests, {
        step: height,
        ceiling: CEILING_CSS_PIXELS,
        until: Math.min(Date.now() + SCROLL_MS, latest),
        latest,
      });
      // Scrolling can have added components.
      await findClosedRoots(client, world);
      await drawFrames(renderPage, latest);
      await layOutAsWhole(world);
    });
  if (prepare || fullPage) await makeResponsive(renderPage);
  const rest = await finish(renderPage, requests);
  if (selector !== undefined && !fullPage) await findClosedRoots(client, world);
  const box = selector === undefined ? undefined : await showSelected(renderPage, requests, selector, latest);
  const width = fullPage ? await wholeWidth(renderPage, viewport.width) : viewport.width;
  const picture = await timed(metrics, 'capture', async () => {
    if (format === 'pdf') return print(renderPage, { ...options, ...viewport, width }, deadline);
    const captured = { ...viewport, width, fullPage, format, quality: options.quality, box };
    if (isBeyondViewport(captured)) await stopScripts(renderPage);
    return capture(client, captured);
  });
  if (picture.file.length > FILE_BYTES) throw new ServiceError('output_too_large');
  return { ...picture, truncated: picture.truncated || !isWhole, rest };
}

/** Context that a worker gives to a tool that renders pages. */
export interface RenderContext extends Limits {
  resource: Browsers;
  /** Returns the milliseconds that a page may take to load. Default: `loadTimeBefore`. */
  loadTime?: LoadTime;
}

/** Returns the context with its deadline limited to `ms` milliseconds from now. */
export const limitWork = (context: RenderContext, ms: number): RenderContext => ({
  ...context,
  deadline: Math.min(context.deadline, Date.now() + ms),
});

const MIME_TYPES = {
  jpeg: 'image/jpeg',
  pdf: 'application/pdf',
  png: 'image/png',
  webp: 'image/webp',
} as const;

/** The output fields that describe the captured file. */
interface RenderedImage {
  fileBase64: string;
  mimeType: (typeof MIME_TYPES)[keyof typeof MIME_TYPES];
  width: number;
  height: number;
  truncated: boolean;
}

/**
 * Renders a page with exclusive use of a browser.
 *
 * @throws ServiceError any error of the script; `source_too_large` when the page exceeds the memory limit of a browser;
 *   `target_failed` when the page crashes the browser and again at the second attempt, if time remains for one;
 *   `deadline_exceeded`
 */
export async function render<T extends object>(
  { resource: browsers, egress, signal, deadline }: RenderContext,
  script: Script<T>,
): Promise<RenderedImage & T> {
  const limits = { egress, signal, deadline: deadline - MARGIN_MS };
  const attempt = () => browsers.run(limits, (renderPage) => perform(renderPage, script, limits));
  try {
    // The crash may have had another cause than this page, so the page is rendered a second time.
    const { file, rest, ...size } = await attempt().catch((error: unknown) => {
      const again = error instanceof BrowserLost && error.reason === 'crashed';
      if (!again || Date.now() + RETRY_MS > limits.deadline) throw error;
      return attempt();
    });
    const mimeType = MIME_TYPES[script.options.format];
    return { fileBase64: file.toString('base64'), mimeType, ...size, ...rest };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof BrowserLost && error.reason === 'memory')
      throw new ServiceError('source_too_large', {
        detail: 'The page needs more memory than this service allows.',
        cause: error,
      });
    if (error instanceof BrowserLost)
      throw new ServiceError('target_failed', { detail: 'The page crashed the browser.', cause: error });
    if (error instanceof DOMException && error.name === 'TimeoutError')
      throw new ServiceError('deadline_exceeded', { cause: error });
    throw error;
  }
}
