/** The bytes that one connection holds. */
export interface Share extends Disposable {
  add(bytes: number): void;
}

/** Bounds the total memory that slow connections hold. */
export interface BufferBudget {
  /** @param evict called at most once, when the total exceeds the limit and this is the oldest share */
  open(evict: () => void): Share;
}

/**
 * Limits the bytes that all connections hold at the same time. When the limit is exceeded, the oldest shares are evicted:
 * fast connections release their shares early, so the oldest shares belong to the slowest ones.
 *
 * @param limit bytes
 */
export function createBufferBudget(limit: number): BufferBudget {
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
