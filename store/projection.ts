import type { Document } from 'mongodb';
import { balanceEventData } from '../schemas/events.ts';
import { newEvent } from './events.ts';
import { insertAllOnce, type JournalEntry, type Store } from './mongo.ts';

/** A journal entry, and whose it is. */
export interface Posting {
  accountId: string;
  entry: JournalEntry;
}

/** Copies journal entries, and takes out of the journal what was copied; in batches, because each write costs a flush. */
export interface Projection {
  /** Resolves when the copies stand. */
  copy(postings: readonly Posting[]): Promise<void>;
  /** Copies with the next batch. */
  copyLater(posting: Posting): void;
  /** Resolves when nothing is left to be copied or pulled. */
  flush(): Promise<void>;
}

/**
 * Copies journal entries to where they are looked for. May run any number of times, in any process. The calls' rows come
 * last: the sweeper returns to a row that still runs, so nothing is left uncopied for good.
 */
async function copyEntries({ calls, entries, events }: Store, postings: readonly Posting[]): Promise<void> {
  if (postings.length === 0) return;
  const lines = postings
    .filter(({ entry }) => entry.state === 'charged')
    .map(({ accountId, entry }) => ({
      _id: entry.id,
      accountId,
      seq: entry.seq,
      at: entry.at,
      type: 'charge' as const,
      amount: -entry.cost,
      balanceAfter: entry.balanceAfter,
      callId: entry.callId,
      tool: entry.tool,
      source: null,
      reference: null,
    }));
  const fired = postings.flatMap(({ accountId, entry }) =>
    entry.events.map(({ id, event }) =>
      newEvent(accountId, event, balanceEventData(event, entry.balanceAfter), { id, createdAt: entry.at }),
    ),
  );
  await Promise.all([insertAllOnce(entries, lines), insertAllOnce(events, fired)]);
  await calls.bulkWrite(
    postings.map(({ entry }) => ({
      updateOne: {
        filter: { _id: entry.callId, state: 'running' },
        update: {
          $set: {
            state: entry.state,
            charged: entry.state === 'charged' ? entry.cost : 0,
            code: entry.code,
            finishedAt: entry.at,
          },
          ...(entry.release ? { $unset: { idempotency: '' } } : {}),
        },
      },
    })),
    { ordered: true },
  );
}

/** Copies whatever an account's journal holds, so that its owner reads what he was charged a moment ago. */
export async function copyJournal(store: Store, accountId: string): Promise<void> {
  const account = await store.accounts.findOne({ _id: accountId }, { projection: { journal: 1 } });
  await copyEntries(
    store,
    (account?.journal ?? []).map((entry) => ({ accountId, entry })),
  );
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
