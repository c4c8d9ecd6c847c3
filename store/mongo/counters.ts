import { type RateLimiterAbstract, RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';
import type { Store } from './mongo.ts';

/** Collection of the counters that have a name. */
const COLLECTION = 'attempts';

interface CounterOptions {
  /** Name of the counter in its collection. Default: the counter has the collection to itself. */
  name?: string;
  /** Default: that of the counters with a name. */
  collection?: string;
  /** Maximum number of events of a key in the window. */
  max: number;
  /** Length of the window, which begins with the first event of a key. */
  seconds: number;
  /** Whether a key above the maximum is refused from memory for a window, so that its further events cost no write. */
  blocks?: boolean;
}

/** Creates a counter of events by key in a time window, which all API processes share. */
export const createCounter = (
  { client, db }: Pick<Store, 'client' | 'db'>,
  { name, collection = COLLECTION, max, seconds, blocks = false }: CounterOptions,
): RateLimiterMongo =>
  new RateLimiterMongo({
    storeClient: client,
    dbName: db.databaseName,
    tableName: collection,
    ...(name !== undefined && { keyPrefix: name }),
    points: max,
    duration: seconds,
    ...(blocks && { inMemoryBlockOnConsumed: max + 1, inMemoryBlockDuration: seconds }),
  });

/** Returns the whole seconds until the window of a key ends, at least 1. */
export const secondsLeft = ({ msBeforeNext }: RateLimiterRes): number =>
  Math.max(1, Math.ceil(msBeforeNext / 1000));

/** Counts an event. @returns null, or the seconds until the window ends if the key is above the maximum */
export async function countEvent(counter: RateLimiterAbstract, key: string): Promise<number | null> {
  try {
    await counter.consume(key);
    return null;
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error;
    return secondsLeft(error);
  }
}

/** A counter as rate-limiter-flexible stores it. */
interface CounterDoc {
  /** Name of the counter, a colon and the key. */
  key: string;
  points: number;
  expire: Date | null;
}

/** Returns the keys with most events in their current windows, and the numbers of these. */
export async function largestCounts(
  { db }: Pick<Store, 'db'>,
  name: string,
  limit: number,
): Promise<Map<string, number>> {
  const rows = await db
    .collection<CounterDoc>(COLLECTION)
    .find({ key: { $gte: `${name}:`, $lt: `${name};` }, expire: { $gt: new Date() } })
    .sort({ points: -1 })
    .limit(limit)
    .toArray();
  return new Map(rows.map(({ key, points }) => [key.slice(name.length + 1), points]));
}
