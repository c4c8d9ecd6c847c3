import { LOW_CREDITS } from '../schemas/events.ts';
import type { AccountDoc, EntryDoc, Store } from './mongo.ts';

/** One thing that does not add up. */
export interface Drift {
  accountId: string;
  what: string;
  expected: number;
  found: number;
}

export interface Audit {
  accounts: number;
  drift: Drift[];
}

/**
 * Recomputes every account from its entries, on one snapshot: balance, the running balance and number of every line,
 * holds against what is reserved, charged calls against charges, and the events of every crossing.
 */
export async function audit(store: Store): Promise<Audit> {
  return store.client.withSession({ snapshot: true }, async (session) => {
    // Said with each read: a collection's own read concern would win over the session's.
    const snapshot = { session, readConcern: { level: 'snapshot' } } as const;
    const result: Audit = { accounts: 0, drift: [] };
    for await (const account of store.accounts.find({}, snapshot)) {
      result.accounts++;
      const inJournal = {
        calls: account.journal.map((entry) => entry.callId),
        events: account.journal.flatMap((entry) => entry.events.map((event) => event.id)),
      };
      const entries = await store.entries
        .find({ accountId: account._id }, snapshot)
        .sort({ seq: 1 })
        .toArray();
      const charged = await store.calls
        .aggregate<{ credits: number; count: number }>(
          [
            { $match: { accountId: account._id, state: 'charged', _id: { $nin: inJournal.calls } } },
            { $group: { _id: null, credits: { $sum: '$charged' }, count: { $sum: 1 } } },
          ],
          snapshot,
        )
        .toArray();
      const fired = await store.events
        .find(
          {
            accountId: account._id,
            event: { $in: ['credits.low', 'credits.exhausted'] },
            _id: { $nin: inJournal.events },
          },
          snapshot,
        )
        .toArray();
      result.drift.push(
        ...check(account, entries, charged[0] ?? { credits: 0, count: 0 }, {
          low: fired.filter(({ event }) => event === 'credits.low').length,
          exhausted: fired.filter(({ event }) => event === 'credits.exhausted').length,
        }),
      );
    }
    return result;
  });
}

/** The arithmetic of one account. Pure, so that a test can feed it books that were cooked. */
export function check(
  account: AccountDoc,
  entries: readonly EntryDoc[],
  charged: { credits: number; count: number },
  fired: { low: number; exhausted: number },
): Drift[] {
  const drift: Drift[] = [];
  const expect = (what: string, expected: number, found: number) => {
    if (expected !== found) drift.push({ accountId: account._id, what, expected, found });
  };
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

  // What is in the journal has happened but may not have been copied yet: it counts for the balance, and is left out
  // where copies are compared (the caller leaves it out of `charged` and `fired`).
  const known = new Set(entries.map((entry) => entry._id));
  const lines = [
    ...entries,
    ...account.journal
      .filter((entry) => entry.state === 'charged' && !known.has(entry.id))
      .map((entry) => ({ ...entry, amount: -entry.cost, type: 'charge' })),
  ].sort((a, b) => a.seq - b.seq);
  const inJournal = new Set(account.journal.map((entry) => entry.callId));
  const copied = (line: { callId: string | null }) => line.callId !== null && !inJournal.has(line.callId);

  let balance = 0;
  const crossings = { low: 0, exhausted: 0 };
  for (const [index, line] of lines.entries()) {
    expect('number of a line', index + 1, line.seq);
    const before = balance;
    balance += line.amount;
    expect(`balance after line ${line.seq}`, balance, line.balanceAfter);
    if (balance < 0)
      drift.push({
        accountId: account._id,
        what: `line ${line.seq} below zero`,
        expected: 0,
        found: balance,
      });
    if (line.type !== 'charge' || !copied(line)) continue;
    if (before >= LOW_CREDITS && balance < LOW_CREDITS) crossings.low++;
    if (before > 0 && balance === 0) crossings.exhausted++;
  }
  expect('balance', balance, account.balance);
  expect('lines', lines.length, account.seq);

  const holds = Object.values(account.holds);
  expect('reserved', sum(holds.map((hold) => hold.cost)), account.reserved);
  for (const [pool, count] of Object.entries(account.running))
    expect(`running in ${pool}`, holds.filter((hold) => hold.pool === pool).length, count);
  if (account.reserved > account.balance)
    drift.push({
      accountId: account._id,
      what: 'reserved above balance',
      expected: account.balance,
      found: account.reserved,
    });

  const charges = lines.filter((line) => line.type === 'charge' && copied(line));
  expect('credits of charged calls', sum(charges.map((line) => -line.amount)), charged.credits);
  expect('charged calls', charges.length, charged.count);
  expect('credits.low events', crossings.low, fired.low);
  expect('credits.exhausted events', crossings.exhausted, fired.exhausted);
  return drift;
}
