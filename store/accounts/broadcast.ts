import type { Store } from '../mongo/mongo.ts';
import type { BroadcastDoc } from '../status/statusDocs.ts';

/** How long a process reuses the notice that it read, in milliseconds. */
const CACHE_MS = 5000;
/** Id of the only document. */
const ID = 'current';

/** A text of an operator that every page of the dashboard shows. */
export type Broadcast = Omit<BroadcastDoc, '_id'>;

/** The current notice; there is at most one. */
export interface Broadcasts {
  /** Returns the notice, at most 5 s old; null if there is none or it has expired. */
  current(): Promise<Broadcast | null>;
  /** Replaces the current notice. */
  publish(notice: Broadcast): Promise<void>;
  end(): Promise<void>;
}

export function createBroadcasts({ broadcasts }: Pick<Store, 'broadcasts'>): Broadcasts {
  let read: { at: number; notice: Promise<Broadcast | null> } | null = null;
  return {
    async current() {
      const now = performance.now();
      if (read === null || now - read.at > CACHE_MS) {
        const found = broadcasts.findOne<Broadcast>({ _id: ID }, { projection: { _id: 0 } });
        // While MongoDB is unreachable, the page reports the error when it reads its own data.
        read = { at: now, notice: found.catch(() => null) };
      }
      const notice = await read.notice;
      return notice !== null && notice.expiresAt > new Date() ? notice : null;
    },

    async publish(notice) {
      await broadcasts.replaceOne({ _id: ID }, notice, { upsert: true });
      read = null;
    },

    async end() {
      await broadcasts.deleteOne({ _id: ID });
      read = null;
    },
  };
}
