import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession, HTTPRequest, Page } from 'puppeteer';

/** Types of requests that are not waited for: they stay open, or do not affect whether the page is complete. */
const NOT_AWAITED: ReadonlySet<string> = new Set([
  'cspviolationreport',
  'eventsource',
  'media',
  'ping',
  'prefetch',
  'websocket',
]);
/** Types of requests that do not delay the `load` event (HTML Standard, "delay the load event"). */
const WITHOUT_LOAD: ReadonlySet<string> = new Set(['fetch', 'preflight', 'xhr']);
const POLL_MS = 20;
/** Milliseconds after which a font that is still loading counts as slow and is no longer waited for. */
export const FONTS_MS = 3_000;

/** The state of a page's requests, updated while the page loads. */
export interface Requests {
  /** The latest request for the main document, possibly after a redirect; null before the first one. */
  readonly navigation: HTTPRequest | null;
  /**
   * HTTP status of the latest response for the main document, even if Chromium discards that response; null before it
   * arrives.
   */
  readonly status: number | null;
  /** Whether another document has been requested for the page and has not arrived. */
  readonly isLeaving: boolean;
  /** Returns the HTTP status of the main document that this loader of the DevTools protocol loaded; null if there was none. */
  statusOf(loaderId: string): number | null;
  /** Host names of all requests of the page. */
  readonly hosts: ReadonlySet<string>;
  /** Number of documents, including those of frames, that were requested over TLS, by host name. */
  readonly secureFrames: ReadonlyMap<string, number>;
  /** Whether requests are pending, except those for slow fonts. */
  readonly isWaiting: boolean;
  /** Whether a request is pending that began between these two times (epoch milliseconds), except those for slow fonts. */
  isWaitingFor(from: number, to: number): boolean;
  /** Whether a font has been loading for FONTS_MS or longer. */
  readonly hasSlowFonts: boolean;
  /**
   * Resolves when the document is parsed and its `load` event waits only for slow fonts. Never resolves once the signal
   * has aborted.
   */
  fontsAreSlow(signal: AbortSignal): Promise<null>;
  /**
   * Resolves when no requests except those for slow fonts have been pending for `quietMs` milliseconds, at the latest
   * at `until` (epoch milliseconds).
   */
  waitForIdle(quietMs: number, until: number): Promise<void>;
}

/** Follows the requests of a page from now on. @param frameId id of the page's main frame in the DevTools protocol */
export async function followRequests(page: Page, client: CDPSession, frameId: string): Promise<Requests> {
  /** Pending requests and when they began, in epoch milliseconds. */
  const open = new Map<HTTPRequest, number>();
  const hosts = new Set<string>();
  const secureFrames = new Map<string, number>();
  let navigation: HTTPRequest | null = null;
  let parsed = false;
  let changedAt = Date.now();
  let documentId = '';
  let status: number | null = null;
  const statuses = new Map<string, number>();
  client.on('Network.requestWillBeSent', ({ requestId, loaderId, ...sent }) => {
    if (requestId !== loaderId || sent.frameId !== frameId) return;
    documentId = requestId;
    status = null;
  });
  client.on('Network.responseReceived', ({ requestId, loaderId, response, ...received }) => {
    if (requestId === loaderId && received.frameId === frameId) statuses.set(loaderId, response.status);
  });
  client.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => {
    if (requestId === documentId) status = statusCode;
  });
  // A buffer size of 0 makes Chromium keep no response bodies for this DevTools session.
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
      parsed = false;
    }
    if (NOT_AWAITED.has(request.resourceType())) return;
    // Puppeteer reports the request after a redirect as a new one, and never reports the end of the redirected request.
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
    get status() {
      return status;
    },
    get isLeaving() {
      return navigation !== null && navigation.response() === null && navigation.failure() === null;
    },
    statusOf: (loaderId) => statuses.get(loaderId) ?? null,
    hosts,
    secureFrames,
    get isWaiting() {
      return open.size > slowFonts();
    },
    isWaitingFor: (from, to) =>
      [...open].some((each) => each[1] >= from && each[1] < to && !isSlowFont(each)),
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
