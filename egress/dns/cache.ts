import { LRUCache } from 'lru-cache';

/** A cached value and its age in milliseconds. */
interface Cached<T> {
  value: T;
  ageMs: number;
}

interface Cache<T> {
  get(key: string): Cached<T> | undefined;
  /** Stores a value, replacing an older one. @param ttlMs lifetime in milliseconds; with 0, the value is not cached */
  set(key: string, value: T, ttlMs: number): void;
}

/**
 * Creates a cache that evicts the least recently used entries first.
 *
 * @param maxSize size limit of all entries in characters of JSON. The number of entries would not bound the memory, because
 *   remote servers decide how long an entry is
 * @param now monotonic clock, in milliseconds
 */
export function createCache<T>(maxSize: number, now: () => number): Cache<T> {
  const entries = new LRUCache<string, { value: T; storedAt: number; expiresAt: number }>({
    maxSize,
    sizeCalculation: ({ value }, key) => key.length + JSON.stringify(value).length,
  });
  return {
    get(key) {
      const entry = entries.get(key);
      // Expiry is checked here because lru-cache's TTL still returns an entry in the millisecond in which it expires.
      if (entry === undefined || now() >= entry.expiresAt) return undefined;
      return { value: entry.value, ageMs: now() - entry.storedAt };
    },
    set(key, value, ttlMs) {
      if (ttlMs <= 0) entries.delete(key);
      else entries.set(key, { value, storedAt: now(), expiresAt: now() + ttlMs });
    },
  };
}
