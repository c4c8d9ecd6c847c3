import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession, HTTPRequest, Page } from 'puppeteer';

/** Request types that stay open or do not affect whether the page is complete. */
const NOT_AWAITED: ReadonlySet<string> = new Set([
  'cspviolationreport',
  'eventsource',
  'media',
  'ping',
  'prefetch',
  'websocket',
]);
/** Request types that the `load` event does not wait for (HTML Standard, "delay the load event"). */
const WITHOUT_LOAD: ReadonlySet<string> = new Set(['fetch', 'preflight', 'xhr']);
const POLL_MS = 20;
/** A font that takes longer is not waited for. */
export const FONTS_MS = 3_000;

/** The requests of a page. */
export interface Requests {
  /** The newest request for the page's document, redirects included. */
  readonly navigation: HTTPRequest | null;
  /** When that request began, before its redirects (`performance.now()`). */
  readonly navigationAt: number;
  /** Status of its newest answer, also of one that Chromium discards; null before. */
  readonly status: number | null;
  /** Requested hosts. */
  readonly hosts: ReadonlySet<string>;
  /** Number of frames loaded from each host over TLS. */
  readonly secureFrames: ReadonlyMap<string, number>;
  /** A font has been loading for FONTS_MS or longer. */
  readonly hasSlowFonts: boolean;
  /** Resolves when the document is parsed and `load` waits only for slow fonts. Pending once the signal has aborted. */
  fontsAreSlow(signal: AbortSignal): Promise<null>;
  /** Waits until nothing but slow fonts has been loading for `quietMs`, at most until `until` (epoch milliseconds). */
  waitForIdle(quietMs: number, until: number): Promise<void>;
}

export async function followRequests(page: Page, client: CDPSession): Promise<Requests> {
  /** Pending requests and when they began, in epoch milliseconds. */
  const open = new Map<HTTPRequest, number>();
  const hosts = new Set<string>();
  const secureFrames = new Map<string, number>();
  let navigation: HTTPRequest | null = null;
  let navigationAt = performance.now();
  let parsed = false;
  let changedAt = Date.now();
  let documentId = '';
  let status: number | null = null;
  // The id of a page's main frame equals that of its target.
  const { targetInfo } = await client.send('Target.getTargetInfo');
  client.on('Network.requestWillBeSent', ({ requestId, loaderId, frameId }) => {
    if (requestId !== loaderId || frameId !== targetInfo.targetId) return;
    documentId = requestId;
    status = null;
  });
  client.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => {
    if (requestId === documentId) status = statusCode;
  });
  // Keeps no bodies for this session.
  await client.send('Network.enable', { maxTotalBufferSize: 0 });
  const isSlowFont = ([request, since]: [HTTPRequest, number]): boolean =>
    request.resourceType() === 'font' && Date.now() - since >= FONTS_MS;
  const slowFonts = (): number => [...open].filter(isSlowFont).length;
  const finish = (request: HTTPRequest): void => {
    if (open.delete(request)) changedAt = Date.now();
  };
  page.on('request', (request) => {
    const { hostname = '', protocol } = URL.parse(request.url()) ?? {};
    hosts.add(hostname);
    if (request.isNavigationRequest() && protocol === 'https:')
      secureFrames.set(hostname, (secureFrames.get(hostname) ?? 0) + 1);
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) {
      navigation = request;
      if (request.redirectChain().length === 0) navigationAt = performance.now();
      parsed = false;
    }
    if (NOT_AWAITED.has(request.resourceType())) return;
    // A redirect is a request of its own, and the one before it never finishes.
    for (const before of request.redirectChain()) open.delete(before);
    changedAt = Date.now();
    open.set(request, changedAt);
  });
  page.on('domcontentloaded', () => {
    parsed = true;
  });
  page.on('requestfinished', finish);
  page.on('requestfailed', finish);
  return {
    get navigation() {
      return navigation;
    },
    get navigationAt() {
      return navigationAt;
    },
    get status() {
      return status;
    },
    hosts,
    secureFrames,
    get hasSlowFonts() {
      return slowFonts() > 0;
    },
    async fontsAreSlow(signal) {
      for (;;) {
        await sleep(POLL_MS);
        if (signal.aborted) return new Promise(() => undefined);
        const delaying = [...open].filter(([request]) => !WITHOUT_LOAD.has(request.resourceType()));
        if (parsed && delaying.length > 0 && delaying.every(isSlowFont)) return null;
      }
    },
    async waitForIdle(quietMs, until) {
      const startedAt = Date.now();
      for (let now = startedAt; now < until; now = Date.now()) {
        const rest = open.size === slowFonts() ? Math.max(changedAt, startedAt) + quietMs - now : POLL_MS;
        if (rest <= 0) return;
        await sleep(Math.min(rest, until - now));
      }
    },
  };
}
