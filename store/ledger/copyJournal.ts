import type { Document } from 'mongodb';
import { balanceEventData } from '../../schemas/events.ts';
import type { JournalEntry } from '../accounts/accountDocs.ts';
import type { TopUpRunDoc } from '../billing/topUpRunDocs.ts';
import { insertAllOnce, type Store } from '../mongo/mongo.ts';
import { newEvent, storeEvents } from '../webhooks/events.ts';
import type { BalanceNotice } from '../webhooks/webhookDocs.ts';

/**
 * Number of postings that are copied before the interval ends. A step takes longer in a longer journal: a busy account makes 6 %
 * more calls a second with this limit.
 */
const COPY_AT = 100;

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

/** Creates the automatic top-up of a charge that crossed its threshold; none if it did not. */
const topUpsOf = (accountId: string, { id, at, topUp }: JournalEntry): TopUpRunDoc[] =>
  topUp === true ? [{ _id: `topup-${id}`, accountId, at, state: 'due', tries: 0, dueAt: at }] : [];

/**
 * Copies journal entries to `entries`, `events`, `notices`, `topUpRuns` and `calls`. May be repeated, in any process. Calls are written last,
 * because the sweeper repeats the copy only for calls that still appear as running.
 *
 * @param callerDispatches as for `storeEvents`
 */
async function copyEntries(
  store: Store,
  postings: readonly Posting[],
  callerDispatches?: boolean,
): Promise<void> {
  if (postings.length === 0) return;
  const { calls, entries, notices, topUpRuns } = store;
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
  const crossings = postings.flatMap(({ accountId, entry }) => topUpsOf(accountId, entry));
  await Promise.all([
    insertAllOnce(entries, lines),
    storeEvents(store, fired, callerDispatches),
    insertAllOnce(notices, alerts),
    insertAllOnce(topUpRuns, crossings),
  ]);
  await calls.bulkWrite(
    postings.map(({ entry }) => ({
      // Not `updateOne`, as in batchUpdates.ts: a copy that fails is made again.
      updateMany: {
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
            ...(entry.digests !== undefined && { digests: entry.digests }),
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

/**
 * Copies journal entries to `calls`, `entries`, `events`, `notices` and `topUpRuns` and removes copied ones from the journal. Works in
 * batches, because each write costs a disk flush.
 */
interface JournalCopier {
  /** Copies these entries at once, as `copyEntries` does. Resolves when the copies are written. */
  copy(postings: readonly Posting[], callerDispatches?: boolean): Promise<void>;
  /** Copies this entry with the next batch. */
  copyLater(posting: Posting): void;
  /** Resolves when all postings are copied and removed from the journal. */
  flush(): Promise<void>;
}

/**
 * @param intervalMs how long postings wait for a batch, in milliseconds
 * @param onCopied called after each batch, before the next one is written
 */
export function createJournalCopier(
  store: Store,
  onError: (error: unknown) => void,
  intervalMs: number,
  onCopied: (postings: readonly Posting[]) => Promise<void>,
): JournalCopier {
  const waiting: Posting[] = [];
  const copied: Posting[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  async function pull(postings: readonly Posting[]): Promise<void> {
    if (postings.length === 0) return;
    const updates = [...Map.groupBy(postings, ({ accountId }) => accountId)].map(([_id, own]) => {
      const update: Document = { $pull: { journal: { id: { $in: own.map(({ entry }) => entry.id) } } } };
      return { updateMany: { filter: { _id }, update } };
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
    copied.push(...due);
    const done = [...copied];
    // If the removal fails, the next batch removes these entries too.
    await pull(done);
    copied.splice(0, done.length);
    await onCopied(due);
  }

  /** Writes the pending batch. Batches are serialised, so awaiting the last one awaits all. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write, write);
    return writing;
  }

  function flushOrRetry(): void {
    flush().catch((error: unknown) => {
      onError(error);
      scheduleFlush();
    });
  }

  function scheduleFlush(): void {
    timer ??= setTimeout(flushOrRetry, intervalMs).unref();
  }

  return {
    flush,
    async copy(postings, callerDispatches) {
      await copyEntries(store, postings, callerDispatches);
      copied.push(...postings);
      scheduleFlush();
    },
    copyLater(posting) {
      waiting.push(posting);
      if (waiting.length === COPY_AT) flushOrRetry();
      else scheduleFlush();
    },
  };
}
