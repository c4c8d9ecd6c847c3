import type { Guard } from '../../egress/guard.ts';
import { readRates } from './fx.ts';
import { readMetal } from './metal.ts';
import type { Readings } from './reading.ts';

/** Sources of quotes: gold, silver, and exchange rates. */
export type FeedName = 'XAU' | 'XAG' | 'FX';

/**
 * Asks a source once.
 *
 * @throws Error or ServiceError for whatever is wrong with it: away, slow, too big, not JSON, not what it should be
 */
export type AskFeed = (feed: FeedName, now: Date, signal: AbortSignal) => Promise<Readings>;

export interface FeedOptions {
  /** Has an exception for the hosts of the feeds, which an operator may run on a private address. */
  egress: Pick<Guard, 'parseTarget' | 'fetch'>;
  /** Base of the metal feed, without a slash at its end. */
  goldFeedUrl: string;
  /** Fetched as given. */
  fxFeedUrl: string;
}

/** From the look-up of the name to the last byte. */
export const ASK_MS = 5_000;
/** All currencies of the world are some 20 KB. */
const MAX_BYTES = 512 * 1024;
const MAX_REDIRECTS = 3;

export function createFeeds({ egress, goldFeedUrl, fxFeedUrl }: FeedOptions): AskFeed {
  async function download(url: string, signal: AbortSignal): Promise<unknown> {
    using response = await egress.fetch(egress.parseTarget(url, { kind: 'url', pointer: '' }), {
      headers: [['Accept', 'application/json']],
      maxBytes: MAX_BYTES,
      maxRedirects: MAX_REDIRECTS,
      signal,
      deadline: Date.now() + ASK_MS,
    });
    if (response.status !== 200) throw new Error(`status ${response.status}`);
    return JSON.parse((await response.bytes()).toString('utf8'));
  }

  return async (feed, now, signal) =>
    feed === 'FX'
      ? readRates(await download(fxFeedUrl, signal), now)
      : readMetal(await download(`${goldFeedUrl}/price/${feed}`, signal), feed, now);
}
