import { randomUUID } from 'node:crypto';
import { insertAllOnce, type QuoteFeedDoc, type Store, type StoredQuote } from './mongo.ts';

/** What is stored of one feed, and the time on the database's clock, which all workers share. */
export interface FeedState {
  quotes: Readonly<Record<string, StoredQuote>>;
  /** Nobody asks the feed before. */
  retryAt: Date;
  /** Somebody asks the feed until then at the latest. */
  leasedUntil: Date;
  now: Date;
}

/** The right to ask a feed, alone in the whole fleet. */
export interface FeedLease {
  feed: string;
  holder: string;
  quotes: FeedState['quotes'];
  /** On the database's clock, when it was given. */
  at: Date;
}

/** The last good quotes, and who refreshes them. */
export interface QuoteStore {
  read(feed: string): Promise<FeedState>;
  /** Null while somebody else has it, or before `retryAt`. One that is not given back ends after `leaseMs`. */
  lease(feed: string, leaseMs: number): Promise<FeedLease | null>;
  /** Gives the lease back, with the quotes as they are now. Does nothing when it has run out and another has it. */
  release(lease: FeedLease, quotes: FeedState['quotes'], retryMs: number): Promise<void>;
}

const LONG_AGO = new Date(0);
const EMPTY: Omit<QuoteFeedDoc, '_id'> = {
  quotes: {},
  holder: null,
  leasedAt: LONG_AGO,
  leasedUntil: LONG_AGO,
  retryAt: LONG_AGO,
};

export function createQuoteStore({ quotes: feeds }: Pick<Store, 'quotes'>): QuoteStore {
  return {
    async read(feed) {
      const [found] = await feeds
        .aggregate<QuoteFeedDoc & { now: Date }>([{ $match: { _id: feed } }, { $set: { now: '$$NOW' } }])
        .toArray();
      return found ?? { ...EMPTY, now: new Date() };
    },

    async lease(feed, leaseMs) {
      await insertAllOnce(feeds, [{ _id: feed, ...EMPTY }]);
      const holder = randomUUID();
      const free = { $and: [{ $lte: ['$leasedUntil', '$$NOW'] }, { $lte: ['$retryAt', '$$NOW'] }] };
      const leased = await feeds.findOneAndUpdate(
        { _id: feed, $expr: free },
        [{ $set: { holder, leasedAt: '$$NOW', leasedUntil: { $add: ['$$NOW', leaseMs] } } }],
        { returnDocument: 'after' },
      );
      return leased === null ? null : { feed, holder, quotes: leased.quotes, at: leased.leasedAt };
    },

    async release({ feed, holder }, quotes, retryMs) {
      await feeds.updateOne({ _id: feed, holder }, [
        {
          $set: {
            quotes: { $literal: quotes },
            holder: null,
            leasedUntil: '$$NOW',
            retryAt: { $add: ['$$NOW', retryMs] },
          },
        },
      ]);
    },
  };
}
