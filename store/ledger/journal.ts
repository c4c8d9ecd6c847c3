import { balanceEventData } from '../../schemas/events.ts';
import type { JournalEntry } from '../accounts/accountDocs.ts';
import { insertAllOnce, type Store } from '../mongo/mongo.ts';
import type { StartDispatch } from '../mongo/transactions.ts';
import { newEvent, storeEvents } from '../webhooks/events.ts';
import type { BalanceNotice } from '../webhooks/webhookDocs.ts';

/** A journal entry and its account. */
export interface Posting {
  accountId: string;
  entry: JournalEntry;
}

/** Creates the email for the thresholds that a charge crossed; none if it crossed none. */
function balanceNotices(accountId: string, entry: JournalEntry): BalanceNotice[] {
  const { id, at, balanceAfter: balance, alerts: thresholds = [] } = entry;
  if (thresholds.length === 0) return [];
  const _id = `balance-${id}`;
  return [{ _id, kind: 'balance', accountId, at, balance, thresholds, tries: 0, dueAt: at }];
}

/**
 * Copies journal entries to `entries`, `events`, `notices` and `calls`. May be repeated, in any process. Calls are written last,
 * because the sweeper repeats the copy only for calls that still appear as running.
 *
 * @param startDispatch starts the dispatch of the copied events. Default: the way of this process
 */
export async function copyEntries(
  store: Store,
  postings: readonly Posting[],
  startDispatch?: StartDispatch,
): Promise<void> {
  if (postings.length === 0) return;
  const { calls, entries, notices } = store;
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
      newEvent(accountId, event, balanceEventData(event, entry.balanceAfter), {
        id,
        createdAt: entry.at,
        traceparent: entry.traceparent,
      }),
    ),
  );
  const alerts = postings.flatMap(({ accountId, entry }) => balanceNotices(accountId, entry));
  await Promise.all([
    insertAllOnce(entries, lines),
    storeEvents(store, fired, startDispatch),
    insertAllOnce(notices, alerts),
  ]);
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
            ...(entry.period !== undefined && { period: entry.period }),
            ...(entry.reservedAt !== undefined && { 'timing.reservedAt': entry.reservedAt }),
            ...(entry.times !== undefined && {
              'timing.wait': entry.times.wait,
              'timing.run': entry.times.run,
            }),
          },
          $unset: {
            ...(entry.release && { idempotency: '' }),
            // A call that was not charged needs no refund if its response is not delivered.
            ...(entry.state !== 'charged' && { pendingAnswer: '' }),
          },
        },
      },
    })),
    { ordered: true },
  );
}

/**
 * Copies all entries of an account's journal, so that readers see the latest charges.
 *
 * @returns number of the newest entry; all entries up to it are copied
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
