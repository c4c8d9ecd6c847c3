/** The last accepted value of a metal price or exchange rate. */
export interface StoredQuote {
  /** Decimal number. */
  value: string;
  publishedAt: Date;
  /** When the feed last reported this value or a value near it. */
  checkedAt: Date;
  /**
   * A value that deviates too much from `value` to be accepted at once: since when and how often the feed has
   * reported it. Null if there is none.
   */
  doubted: { value: string; since: Date; times: number } | null;
}

/**
 * The state of a quote feed: the accepted values by symbol, and the lease of the worker that is fetching the feed.
 */
export interface QuoteFeedDoc {
  _id: string;
  quotes: Record<string, StoredQuote>;
  holder: string | null;
  leasedAt: Date;
  leasedUntil: Date;
  retryAt: Date;
}
