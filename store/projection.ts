import type { Document } from 'mongodb';
import { copyEntries, type Posting } from './journal.ts';
import type { Store } from './mongo.ts';
import { USAGE_INTERVAL, usageOf } from './usage.ts';

/** Copies journal entries, and takes out of the journal what was copied; in batches, because each write costs a flush. */
export interface Projection {
  /** Resolves when the copies stand. */
  copy(postings: readonly Posting[]): Promise<void>;
  /** Copies with the next batch. */
  copyLater(posting: Posting): void;
  /** Resolves when nothing is left to be copied or pulled. */
  flush(): Promise<void>;
}

/** @param everyMs how long a posting may wait for others to be copied or pulled with it */
export function createProjection(
  store: Store,
  onError: (error: unknown) => void,
  everyMs: number,
): Projection {
  const waiting: Posting[] = [];
  const copied: Posting[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  async function pull(postings: readonly Posting[]): Promise<void> {
    if (postings.length === 0) return;
    const updates = [...Map.groupBy(postings, ({ accountId }) => accountId)].map(([_id, own]) => {
      const update: Document = { $pull: { journal: { id: { $in: own.map(({ entry }) => entry.id) } } } };
      return { updateOne: { filter: { _id }, update } };
    });
    // Losing this write costs nothing: the entries are copied again, by id, and pulled with a later batch.
    await store.accounts.bulkWrite(updates, { ordered: false, writeConcern: { w: 1 } });
  }

  async function write(): Promise<void> {
    const due = waiting.splice(0);
    try {
      await copyEntries(store, due);
    } catch (error) {
      waiting.push(...due);
      throw error;
    }
    await pull([...copied.splice(0), ...due]);
    for (const { accountId, entry } of due)
      if (entry.state === 'charged' && entry.seq % USAGE_INTERVAL === 0) await usageOf(store, accountId);
  }

  /** One batch after the other, so that who waits for the last has waited for all. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write, write);
    return writing;
  }

  function soon(): void {
    timer ??= setTimeout(() => {
      flush().catch((error: unknown) => {
        onError(error);
        soon();
      });
    }, everyMs).unref();
  }

  return {
    flush,
    async copy(postings) {
      await copyEntries(store, postings);
      copied.push(...postings);
      soon();
    },
    copyLater(posting) {
      waiting.push(posting);
      soon();
    },
  };
}
