import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../schemas/errors.ts';
import type { StoredQuote } from '../../store/mongo.ts';
import type { FeedState, QuoteStore } from '../../store/quotes.ts';
import { ASK_MS, type AskFeed, type FeedName } from './feeds.ts';
import { judge } from './judge.ts';

/** A number that a feed gave, and whether it had to be served although it is old. */
export interface Quote extends Pick<StoredQuote, 'value' | 'publishedAt'> {
  stale: boolean;
}

/** Quotes of the feeds, refreshed when somebody wants one that is old. */
export interface Quotes {
  /**
   * The last good quote.
   *
   * @throws ServiceError `feed_unavailable` when there never was one; an AbortError when the signal is aborted
   */
  latest(feed: FeedName, symbol: string, signal: AbortSignal): Promise<Quote>;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

interface QuotesOptions {
  store: QuoteStore;
  ask: AskFeed;
  /** For the operator's log. */
  onFault(feed: FeedName, error: unknown): void;
}

const FRESH_MS = 60_000;
/** A feed that failed is left alone for so long, by everybody. */
const RETRY_MS = 5_000;
/** Longer than a feed is asked: whoever has not given its lease back by then has died. */
const LEASE_MS = ASK_MS + 3_000;
/** Who can be answered with an old quote waits so long for a new one; who cannot waits as long as the tool may take. */
const BRIEF_MS = 3_000;
const PATIENCE_MS = 9_000;
const LOOK_EVERY_MS = 100;

const isFresh = (quote: StoredQuote, { now }: FeedState): boolean =>
  now.getTime() - quote.checkedAt.getTime() < FRESH_MS;

/** Ends with the work, after `ms`, or with an AbortError. @throws what the work throws */
async function waitFor(work: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work, sleep(ms, undefined, { signal: AbortSignal.any([signal, over.signal]) })]);
  } finally {
    over.abort();
  }
}

export function createQuotes({ store, ask, onFault }: QuotesOptions): Quotes {
  /** Refreshes that this process waits for: one a feed, whoever does it. */
  const flights = new Map<FeedName, Promise<void>>();
  const closing = new AbortController();

  /** Asks the feed when nobody else does, else waits until that has ended. */
  async function refresh(feed: FeedName): Promise<void> {
    const lease = await store.lease(feed, LEASE_MS);
    if (lease === null) {
      for (let leased = true; leased && !closing.signal.aborted; ) {
        const { leasedUntil, now } = await store.read(feed);
        leased = leasedUntil > now;
        if (leased) await sleep(LOOK_EVERY_MS);
      }
      return;
    }
    const quotes = { ...lease.quotes };
    let retryMs = RETRY_MS;
    try {
      const readings = await ask(feed, lease.at, closing.signal);
      for (const [symbol, reading] of readings) {
        const quote = judge(quotes[symbol], reading, lease.at);
        quotes[symbol] = quote;
        if (quote.doubted !== null)
          onFault(
            feed,
            new Error(`${symbol} went from ${quote.value} to ${reading.value}: not believed yet`),
          );
      }
      retryMs = FRESH_MS;
    } catch (error) {
      onFault(feed, error);
    }
    await store.release(lease, quotes, retryMs);
  }

  function refreshOnce(feed: FeedName): Promise<void> {
    const known = flights.get(feed);
    if (known !== undefined) return known;
    const flight = refresh(feed).finally(() => flights.delete(feed));
    // Those who waited may be gone by then.
    flight.catch((error: unknown) => onFault(feed, error));
    flights.set(feed, flight);
    return flight;
  }

  return {
    async latest(feed, symbol, signal) {
      const since = Date.now();
      for (;;) {
        const state = await store.read(feed);
        const quote = state.quotes[symbol];
        if (quote !== undefined && isFresh(quote, state)) return { ...quote, stale: false };
        const left = since + (quote === undefined ? PATIENCE_MS : BRIEF_MS) - Date.now();
        if (state.retryAt > state.now || left <= 0) {
          if (quote === undefined) throw new ServiceError('feed_unavailable');
          return { ...quote, stale: true };
        }
        await waitFor(refreshOnce(feed), left, signal);
      }
    },

    async close() {
      closing.abort();
      await Promise.allSettled(flights.values());
    },
  };
}
