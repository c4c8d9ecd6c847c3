/** One holder's share of the bytes. */
export interface Share extends Disposable {
  add(bytes: number): void;
}

/** Bounds the memory that many slow connections hold together. */
export interface HeldBytes {
  /** @param evict called, at most once, when this is the oldest share and all together exceed the limit */
  open(evict: () => void): Share;
}

/**
 * A limit on the bytes that connections hold at the same time. When it is exceeded, the oldest shares are evicted: a
 * connection that keeps up has given its share back long before, so the oldest ones are the slowest.
 *
 * @param limit bytes
 */
export function createHeldBytes(limit: number): HeldBytes {
  /** Oldest first. */
  const shares = new Map<Share, { bytes: number; evict: () => void }>();
  let total = 0;

  function close(share: Share): void {
    total -= shares.get(share)?.bytes ?? 0;
    shares.delete(share);
  }

  return {
    open(evict) {
      const share: Share = {
        add(bytes) {
          const own = shares.get(share);
          if (own === undefined) return;
          own.bytes += bytes;
          total += bytes;
          for (const [oldest, held] of shares) {
            if (total <= limit) return;
            close(oldest);
            held.evict();
          }
        },
        [Symbol.dispose]: () => close(share),
      };
      shares.set(share, { bytes: 0, evict });
      return share;
    },
  };
}
