import { randomUUID } from 'node:crypto';
import { insertAllOnce, type Store } from '../mongo/mongo.ts';
import type { QuoteFeedDoc, StoredQuote } from './quoteDocs.ts';

/** Stored state of a feed, and the current time of the database server, whose clock all workers use. */
export interface FeedState {
  quotes: Readonly<Record<string, StoredQuote>>;
  /** The feed is not fetched before this time. */
  retryAt: Date;
  /** Latest end of the current lease. */
  leasedUntil: Date;
  now: Date;
}

/** The exclusive right of a worker to fetch a feed. */
interface FeedLease {
  feed: string;
  holder: string;
  quotes: FeedState['quotes'];
  /** Start of the lease, by the clock of the database server. */
  at: Date;
}

/** Stores the last accepted quotes of each feed, and the leases of the workers that fetch feeds. */
export interface QuoteStore {
  read(feed: string): Promise<FeedState>;
  /** Returns null while another worker has the lease, or before `retryAt`. A lease that is not released expires after `leaseMs`. */
  lease(feed: string, leaseMs: number): Promise<FeedLease | null>;
  /** Ends the lease and stores the quotes. No-op if the lease has expired and another worker has it. */
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
