/** A value, and the milliseconds since it was put in. */
export interface Cached<T> {
  value: T;
  ageMs: number;
}

export interface Cache<T> {
  get(key: string): Cached<T> | undefined;
  /** @param ttlMs milliseconds it may be had for; 0 keeps nothing */
  set(key: string, value: T, ttlMs: number): void;
}

interface Entry<T> {
  value: T;
  size: number;
  since: number;
  until: number;
}

/**
 * A cache that forgets the least recently used first.
 *
 * @param maxSize characters that all entries together may have as JSON; entries are weighed, not counted, because
 *   strangers decide how long they are
 * @param now a clock in milliseconds that only goes forward
 */
export function createCache<T>(maxSize: number, now: () => number): Cache<T> {
  // A Map keeps the order of insertion, and every use inserts anew.
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
