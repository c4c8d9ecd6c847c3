import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../schemas/errors.ts';
import type { StoredQuote } from '../../store/quotes/quoteDocs.ts';
import type { FeedState, QuoteStore } from '../../store/quotes/quotes.ts';
import { acceptReading } from './acceptReading.ts';
import { FETCH_MS, type FeedName, type FetchFeed } from './feeds.ts';

/** A price or exchange rate. `stale`: it is older than it should be, because the feed could not be refreshed. */
interface Quote extends Pick<StoredQuote, 'value' | 'publishedAt'> {
  stale: boolean;
}

/** Quotes of the feeds, refreshed on demand. */
export interface Quotes {
  /**
   * Returns the last accepted quote, refreshing it if it is old.
   *
   * @throws ServiceError `feed_unavailable` when there has never been a quote; an AbortError when the signal aborts
   */
  latest(feed: FeedName, symbol: string, signal: AbortSignal): Promise<Quote>;
  /** Aborts running refreshes and waits for them to end. */
  close(): Promise<void>;
}

interface QuotesOptions {
  store: QuoteStore;
  fetchFeed: FetchFeed;
  onFault(feed: FeedName, error: unknown): void;
}

const FRESH_MS = 60_000;
/** After a failed request to a feed, no process requests the feed for this many milliseconds. */
const RETRY_MS = 5_000;
/** Duration of the lease for refreshing a feed. Longer than a request, so that it expires only if its process has died. */
const LEASE_MS = FETCH_MS + 3_000;
/** How long a call waits for a refresh, in milliseconds, when an old quote exists. */
const WAIT_WITH_QUOTE_MS = 3_000;
/** How long a call waits for a refresh, in milliseconds, when there is no quote yet. */
const WAIT_WITHOUT_QUOTE_MS = 9_000;
const POLL_INTERVAL_MS = 100;

const isFresh = (quote: StoredQuote, { now }: FeedState): boolean =>
  now.getTime() - quote.checkedAt.getTime() < FRESH_MS;

/** Waits until the work ends or `ms` have passed. @throws the error of the work; an AbortError when the signal aborts */
async function waitFor(work: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  try {
    await Promise.race([work, sleep(ms, undefined, { signal: AbortSignal.any([signal, done.signal]) })]);
  } finally {
    done.abort();
  }
}

export function createQuotes({ store, fetchFeed, onFault }: QuotesOptions): Quotes {
  /** Refreshes that this process runs or waits for, at most one per feed. */
  const inFlight = new Map<FeedName, Promise<void>>();
  const closing = new AbortController();

  /** Refreshes a feed, or waits until another process has refreshed it. */
  async function refresh(feed: FeedName): Promise<void> {
    const lease = await store.lease(feed, LEASE_MS);
    if (lease === null) {
      for (let leased = true; leased && !closing.signal.aborted; ) {
        const { leasedUntil, now } = await store.read(feed);
        leased = leasedUntil > now;
        if (leased) await sleep(POLL_INTERVAL_MS);
      }
      return;
    }
    const quotes = { ...lease.quotes };
    let retryMs = RETRY_MS;
    try {
      const readings = await fetchFeed(feed, lease.at, closing.signal);
      for (const [symbol, reading] of readings) {
        const quote = acceptReading(quotes[symbol], reading, lease.at);
        quotes[symbol] = quote;
        if (quote.doubted !== null)
          onFault(
            feed,
            new Error(`${symbol} changed from ${quote.value} to ${reading.value}; awaiting confirmation`),
          );
      }
      retryMs = FRESH_MS;
    } catch (error) {
      onFault(feed, error);
    }
    await store.release(lease, quotes, retryMs);
  }

  function refreshOnce(feed: FeedName): Promise<void> {
    const running = inFlight.get(feed);
    if (running !== undefined) return running;
    const started = refresh(feed).finally(() => inFlight.delete(feed));
    // Callers may have stopped waiting; this prevents an unhandled rejection.
    started.catch((error: unknown) => onFault(feed, error));
    inFlight.set(feed, started);
    return started;
  }

  return {
    async latest(feed, symbol, signal) {
      const since = Date.now();
      for (;;) {
        const state = await store.read(feed);
        const quote = state.quotes[symbol];
        if (quote !== undefined && isFresh(quote, state)) return { ...quote, stale: false };
        const left = since + (quote === undefined ? WAIT_WITHOUT_QUOTE_MS : WAIT_WITH_QUOTE_MS) - Date.now();
        if (state.retryAt > state.now || left <= 0) {
          if (quote === undefined) throw new ServiceError('feed_unavailable');
          return { ...quote, stale: true };
        }
        await waitFor(refreshOnce(feed), left, signal);
      }
    },

    async close() {
      closing.abort();
      await Promise.allSettled(inFlight.values());
    },
  };
}
