import { createFeeds } from '../../activities/gold/feeds.ts';
import { createQuotes, type Quotes } from '../../activities/gold/quotes.ts';
import { createGuard } from '../../egress/guard.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { createQuoteStore } from '../../store/quotes/quotes.ts';
import type { Feed } from './feed.ts';
import { startDatabase } from './stack.ts';

export interface QuotesRig {
  store: Store;
  quotes: Quotes;
  /** The messages of the errors that are written to the operator's log. */
  faults: string[];
  /** Returns the quotes as another worker with the same feeds and database sees them. */
  another(): Quotes;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Moves the timestamps of all stored quotes into the past, because the tests cannot move the clock. */
export async function backdateQuotes({ quotes }: Pick<Store, 'quotes'>, ms: number): Promise<void> {
  const earlier = (date: Date): Date => new Date(date.getTime() - ms);
  for (const feed of await quotes.find().toArray()) {
    const aged = Object.entries(feed.quotes).map(([symbol, quote]) => [
      symbol,
      {
        ...quote,
        checkedAt: earlier(quote.checkedAt),
        doubted: quote.doubted && { ...quote.doubted, since: earlier(quote.doubted.since) },
      },
    ]);
    await quotes.updateOne(
      { _id: feed._id },
      {
        $set: {
          quotes: Object.fromEntries(aged),
          leasedAt: earlier(feed.leasedAt),
          leasedUntil: earlier(feed.leasedUntil),
          retryAt: earlier(feed.retryAt),
        },
      },
    );
  }
}

/** Starts the gold price reader in the same way as a worker, but with the test's own feed and an empty database. */
export async function openQuotesRig(feed: Pick<Feed, 'port' | 'env'>): Promise<QuotesRig> {
  await using open = new AsyncDisposableStack();
  const database = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(database.mongodbUri), (it) => it.close());
  const faults: string[] = [];
  const egress = createGuard({
    resolver: {
      addresses: async (name) => {
        throw new Error(`${name} was looked up`);
      },
    },
    allow: [parseAllow(`127.0.0.1:${feed.port}`)],
    ownPorts: [],
  });
  const fetchFeed = createFeeds({
    egress,
    goldFeedUrl: feed.env.GOLD_FEED_URL,
    fxFeedUrl: feed.env.FX_FEED_URL,
  });
  const openQuotes = (owner: AsyncDisposableStack) =>
    owner.adopt(
      createQuotes({
        store: createQuoteStore(store),
        fetchFeed,
        onFault: (name, error) => faults.push(`${name}: ${error}`),
      }),
      (it) => it.close(),
    );
  const quotes = openQuotes(open);
  const opened = open.move();
  return {
    store,
    quotes,
    faults,
    another: () => openQuotes(opened),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
