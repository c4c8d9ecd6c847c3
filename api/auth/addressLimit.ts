import { RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';
import type { Store } from '../../store/mongo/mongo.ts';
import { addressKey } from './addressKey.ts';

interface AddressLimitOptions {
  /** Name of the collection that counts. */
  tableName: string;
  /** Maximum number of events per client address in the window. */
  points: number;
  windowSeconds: number;
}

/**
 * Creates a limit per client address, counted across all API processes. An address above the limit is blocked in memory, so
 * that its further requests cost no write.
 *
 * @returns a function that counts an event and returns null, or the seconds to wait if the address is above the limit
 */
export function createAddressLimit(store: Store, { tableName, points, windowSeconds }: AddressLimitOptions) {
  const limiter = new RateLimiterMongo({
    storeClient: store.client,
    dbName: store.db.databaseName,
    tableName,
    points,
    duration: windowSeconds,
    inMemoryBlockOnConsumed: points + 1,
    inMemoryBlockDuration: windowSeconds,
  });
  return async (address: string): Promise<number | null> => {
    try {
      await limiter.consume(addressKey(address));
      return null;
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      return Math.max(1, Math.ceil(error.msBeforeNext / 1000));
    }
  };
}
