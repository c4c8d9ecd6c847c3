import { balanceEventData } from '../schemas/events.ts';
import { newEvent } from './events.ts';
import { insertAllOnce, type JournalEntry, type Store } from './mongo.ts';

/** A journal entry, and whose it is. */
export interface Posting {
  accountId: string;
  entry: JournalEntry;
}

/**
 * Copies journal entries to where they are looked for. May run any number of times, in any process. The calls' rows come
 * last: the sweeper returns to a row that still runs, so nothing is left uncopied for good.
 */
export async function copyEntries(
  { calls, entries, events }: Store,
  postings: readonly Posting[],
): Promise<void> {
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
          $unset: {
            ...(entry.release && { idempotency: '' }),
            // What is not charged need not be given back.
            ...(entry.state !== 'charged' && { pendingAnswer: '' }),
          },
        },
      },
    })),
    { ordered: true },
  );
}

/**
 * Copies whatever an account's journal holds, so that its owner reads what he was charged a moment ago.
 *
 * @returns number of the newest entry: all up to that one stand in the books now
 */
export async function copyJournal(store: Store, accountId: string): Promise<number> {
  const account = await store.accounts.findOne({ _id: accountId }, { projection: { journal: 1, seq: 1 } });
  if (account === null) return 0;
  await copyEntries(
    store,
    account.journal.map((entry) => ({ accountId, entry })),
  );
  return account.seq;
}
