import { setTimeout as sleep } from 'node:timers/promises';
import type { HTTPRequest, Page } from 'puppeteer';

/** These stay open, or say nothing about whether the page is complete. */
const ENDLESS: ReadonlySet<string> = new Set([
  'cspviolationreport',
  'eventsource',
  'media',
  'ping',
  'prefetch',
  'websocket',
]);
const POLL_MS = 20;

/** Follows what a page asks for. */
export interface Requests {
  /** The newest request for the page itself, redirects included. */
  readonly navigation: HTTPRequest | null;
  /** Hosts that were asked for. */
  readonly hosts: ReadonlySet<string>;
  /** How many frames were to be filled from each host over TLS. */
  readonly secureFrames: ReadonlyMap<string, number>;
  /** Waits until nothing has been under way for `quietMs`, at most until `until` (epoch milliseconds). */
  quiet(quietMs: number, until: number): Promise<void>;
}

export function followRequests(page: Page): Requests {
  const open = new Set<HTTPRequest>();
  const hosts = new Set<string>();
  const secureFrames = new Map<string, number>();
  let navigation: HTTPRequest | null = null;
  let changedAt = Date.now();
  const finish = (request: HTTPRequest): void => {
    if (open.delete(request)) changedAt = Date.now();
  };
  page.on('request', (request) => {
    const { hostname = '', protocol } = URL.parse(request.url()) ?? {};
    hosts.add(hostname);
    if (request.isNavigationRequest() && protocol === 'https:')
      secureFrames.set(hostname, (secureFrames.get(hostname) ?? 0) + 1);
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) navigation = request;
    if (ENDLESS.has(request.resourceType())) return;
    // A redirect is a request of its own, and the one before it never finishes.
    for (const before of request.redirectChain()) open.delete(before);
    open.add(request);
    changedAt = Date.now();
  });
  page.on('requestfinished', finish);
  page.on('requestfailed', finish);
  return {
    get navigation() {
      return navigation;
    },
    hosts,
    secureFrames,
    async quiet(quietMs, until) {
      const startedAt = Date.now();
      for (let now = startedAt; now < until; now = Date.now()) {
        const rest = open.size === 0 ? Math.max(changedAt, startedAt) + quietMs - now : POLL_MS;
        if (rest <= 0) return;
        await sleep(Math.min(rest, until - now));
      }
    },
  };
}
