import type { Document } from 'mongodb';
import { USAGE_INTERVAL, usageOf } from '../billing/usage.ts';
import type { Store } from '../mongo/mongo.ts';
import type { StartDispatch } from '../mongo/transactions.ts';
import { copyEntries, type Posting } from './journal.ts';

/**
 * Copies journal entries to `calls`, `entries`, `events` and `notices` and removes copied ones from the journal. Works in
 * batches, because each write costs a disk flush.
 */
export interface Projection {
  /** Copies these entries at once, as `copyEntries` does. Resolves when the copies are written. */
  copy(postings: readonly Posting[], startDispatch?: StartDispatch): Promise<void>;
  /** Copies this entry with the next batch. */
  copyLater(posting: Posting): void;
  /** Resolves when all postings are copied and removed from the journal. */
  flush(): Promise<void>;
}

/** @param intervalMs how long postings wait for a batch, in milliseconds */
export function createProjection(
  store: Store,
  onError: (error: unknown) => void,
  intervalMs: number,
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
    // Does not wait until the write is durable. If MongoDB loses it, the entries are copied again, which changes
    // nothing, and removed with a later batch.
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

  /** Writes the pending batch. Batches are serialised, so awaiting the last one awaits all. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write, write);
    return writing;
  }

  function scheduleFlush(): void {
    timer ??= setTimeout(() => {
      flush().catch((error: unknown) => {
        onError(error);
        scheduleFlush();
      });
    }, intervalMs).unref();
  }

  return {
    flush,
    async copy(postings, startDispatch) {
      await copyEntries(store, postings, startDispatch);
      copied.push(...postings);
      scheduleFlush();
    },
    copyLater(posting) {
      waiting.push(posting);
      scheduleFlush();
    },
  };
}
