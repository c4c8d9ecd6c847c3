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

interface Entry<T> {
  value: T;
  size: number;
  since: number;
  until: number;
}

/**
 * A cache that evicts the least recently used entry first.
 *
 * @param maxSize size limit in characters of JSON. Entries are weighed, not counted, because remote servers decide how
 *   long they are
 * @param now monotonic clock, in milliseconds
 */
export function createCache<T>(maxSize: number, now: () => number): Cache<T> {
  // A Map keeps insertion order; each use inserts the entry again at the end.
  const entries = new Map<string, Entry<T>>();
  let total = 0;

  function remove(key: string): Entry<T> | undefined {
    const entry = entries.get(key);
    entries.delete(key);
    total -= entry?.size ?? 0;
    return entry;
  }

  function insert(key: string, entry: Entry<T>): void {
    entries.set(key, entry);
    total += entry.size;
  }

  return {
    get(key) {
      const entry = remove(key);
      if (entry === undefined || now() >= entry.until) return undefined;
      insert(key, entry);
      return { value: entry.value, ageMs: now() - entry.since };
    },
    set(key, value, ttlMs) {
      remove(key);
      const size = key.length + JSON.stringify(value).length;
      if (ttlMs <= 0 || size > maxSize) return;
      insert(key, { value, size, since: now(), until: now() + ttlMs });
      for (const oldest of entries.keys()) {
        if (total <= maxSize) break;
        remove(oldest);
      }
    },
  };
}
