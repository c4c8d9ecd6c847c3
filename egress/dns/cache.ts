import { LRUCache } from 'lru-cache';

/** A cached value and its age in milliseconds. */
export interface Cached<T> {
  value: T;
  ageMs: number;
}

export interface Cache<T> {
  get(key: string): Cached<T> | undefined;
  /** @param ttlMs lifetime in milliseconds; 0 does not cache */
  set(key: string, value: T, ttlMs: number): void;
}

/**
 * A cache that evicts the least recently used entry first.
 *
 * @param maxSize size limit in characters of JSON. Entries are weighed, not counted, because remote servers decide how
 *   long they are
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
      // lru-cache's own TTL keeps an entry for the millisecond in which it expires.
      if (entry === undefined || now() >= entry.expiresAt) return undefined;
      return { value: entry.value, ageMs: now() - entry.storedAt };
    },
    set(key, value, ttlMs) {
      if (ttlMs <= 0) entries.delete(key);
      else entries.set(key, { value, storedAt: now(), expiresAt: now() + ttlMs });
    },
  };
}
