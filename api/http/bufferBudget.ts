/** The buffered bytes of one connection. */
export interface Share extends Disposable {
  add(bytes: number): void;
}

/** Bounds the total memory that slow connections use. */
export interface BufferBudget {
  /**
   * Opens the share of a connection. @param evict called at most once, if the total exceeds the limit and this share
   * is the oldest
   */
  open(evict: () => void): Share;
}

/**
 * Creates a limit on the bytes that all connections buffer at the same time. If the limit is exceeded, the oldest
 * shares are evicted. Fast connections release their shares early, so the oldest shares belong to the slowest
 * connections.
 *
 * @param limit maximum number of bytes
 */
export function createBufferBudget(limit: number): BufferBudget {
  /** The open shares, oldest first. */
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
