import type { Guard } from '../../egress/guard.ts';
import { readRates } from './fx.ts';
import { readMetal } from './metal.ts';
import type { Readings } from './reading.ts';

/** Sources of quotes: gold, silver, and exchange rates. */
export type FeedName = 'XAU' | 'XAG' | 'FX';

/**
 * Requests a feed once.
 *
 * @throws Error or ServiceError when the feed is unreachable, slow or too large, or its response is invalid
 */
export type FetchFeed = (feed: FeedName, now: Date, signal: AbortSignal) => Promise<Readings>;

interface FeedOptions {
  /** Guard that also allows the hosts of the feeds, which may have private addresses. */
  egress: Pick<Guard, 'parseTarget' | 'fetch'>;
  /** Base URL of the metal feed, without a trailing slash. */
  goldFeedUrl: string;
  /** Complete URL of the exchange rate feed. */
  fxFeedUrl: string;
}

/** Timeout of a request to a feed in milliseconds, from the DNS lookup to the last byte of the response. */
export const FETCH_MS = 5_000;
/** Maximum size of a feed's response in bytes. The rates of all currencies take about 20 KB. */
const MAX_BYTES = 512 * 1024;
const MAX_REDIRECTS = 3;

export function createFeeds({ egress, goldFeedUrl, fxFeedUrl }: FeedOptions): FetchFeed {
  async function download(url: string, signal: AbortSignal): Promise<unknown> {
    using response = await egress.fetch(egress.parseTarget(url, { kind: 'url', pointer: '' }), {
      headers: [['Accept', 'application/json']],
      maxBytes: MAX_BYTES,
      maxRedirects: MAX_REDIRECTS,
      signal,
      deadline: Date.now() + FETCH_MS,
    });
    if (response.status !== 200) throw new Error(`status ${response.status}`);
    return JSON.parse((await response.bytes()).toString('utf8'));
  }

  return async (feed, now, signal) =>
    feed === 'FX'
      ? readRates(await download(fxFeedUrl, signal), now)
      : readMetal(await download(`${goldFeedUrl}/price/${feed}`, signal), feed, now);
}
