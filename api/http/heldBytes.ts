import { addressKey } from '../auth/addressKey.ts';

/** For whom memory is held: the client address of a request, and its account if it is authenticated. */
export interface Holder {
  address: string;
  account: string | null;
}

/** The bytes that one connection makes this process hold. */
interface Share extends Disposable {
  /** @param bytes negative if less is held from now on */
  add(bytes: number): void;
}

/** Bounds the memory that all connections together make this process hold, such as unread responses. */
interface HeldBytes {
  /** Opens the share of a connection. @param evict ends the connection; called at most once */
  open(holder: Holder, evict: () => void): Share;
  /** Yields the open shares: for whom, and how many bytes. */
  all(): Iterable<readonly [Holder, number]>;
}

interface Held {
  holder: Holder;
  bytes: number;
  evict(): void;
}

/** The part of a request's context that says who sent it. */
export interface Sender {
  ip: string;
  /** `caller` is set once the request is authenticated. */
  state: { caller?: { account: { _id: string } } };
}

/** The client of a request. */
export const holderOf = ({ ip, state }: Sender): Holder => ({
  address: ip,
  account: state.caller?.account._id ?? null,
});

/** The address and the account of a holder, under which its bytes are summed up. */
const namesOf = ({ address, account }: Holder): string[] =>
  account === null ? [addressKey(address)] : [addressKey(address), account];

/**
 * Creates a limit on the bytes that are held at the same time. While it is exceeded, the address or account that holds most
 * loses its largest share, so that no client can displace another that holds less.
 *
 * @param limit maximum number of bytes
 */
export function createHeldBytes(limit: number): HeldBytes {
  /** The open shares, oldest first. */
  const shares = new Map<Share, Held>();
  let total = 0;

  function close(share: Share): void {
    total -= shares.get(share)?.bytes ?? 0;
    shares.delete(share);
  }

  /** Sums up only when the limit is exceeded, so that an ordinary request costs two additions. */
  function largestHolder(): string {
    const sums = new Map<string, number>();
    let [largest, most] = ['', -1];
    for (const { holder, bytes } of shares.values())
      for (const name of namesOf(holder)) {
        const sum = (sums.get(name) ?? 0) + bytes;
        sums.set(name, sum);
        if (sum > most) [largest, most] = [name, sum];
      }
    return largest;
  }

  function evictOne(): void {
    const name = largestHolder();
    let found: [Share, Held] | undefined;
    for (const entry of shares)
      if (entry[1].bytes > (found?.[1].bytes ?? 0) && namesOf(entry[1].holder).includes(name)) found = entry;
    if (found === undefined) return;
    close(found[0]);
    found[1].evict();
  }

  return {
    open(holder, evict) {
      const share: Share = {
        add(bytes) {
          const own = shares.get(share);
          if (own === undefined) return;
          own.bytes += bytes;
          total += bytes;
          while (total > limit) evictOne();
        },
        [Symbol.dispose]: () => close(share),
      };
      shares.set(share, { holder, bytes: 0, evict });
      return share;
    },
    *all() {
      for (const { holder, bytes } of shares.values()) yield [holder, bytes];
    },
  };
}
