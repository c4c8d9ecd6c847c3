import type { ClientSession } from 'mongodb';
import { type EventKind, LOW_CREDITS } from '../../schemas/events.ts';
import type { AccountDoc, EntryDoc, GrantDoc, JournalEntry, SpendPeriod } from '../accounts/accountDocs.ts';
import type { CallDoc } from '../calls/callDocs.ts';
import type { Store } from '../mongo/mongo.ts';
import { TEST_EVENT_IDS } from '../webhooks/events.ts';
import { ABANDONED, isRefundDue } from './paybacks.ts';

/** A stored number that differs from the recomputed one. */
export interface Drift {
  accountId: string;
  what: string;
  expected: number;
  found: number;
}

export interface Audit {
  accounts: number;
  /**
   * Number of charged calls whose result was not delivered and which the sweeper will refund. Absent if there are
   * none.
   */
  owed?: number;
  drift: Drift[];
}

/**
 * Age from which a refund that is still due is reported as a difference. The sweeper makes refunds within a minute.
 */
const MAX_REFUND_DELAY_MS = 600_000;

/**
 * Timeout in milliseconds of one MongoDB command of an audit. Longer than that of the commands of a call, because one
 * query reads the whole ledger.
 */
export const AUDIT_TIMEOUT_MS = 300_000;

interface Snapshot {
  session: ClientSession;
  readConcern: { level: 'snapshot' };
}

interface Spent {
  credits: number;
  period: SpendPeriod;
}

/**
 * The documents that belong to an account. `charged` and `fired` exclude charges whose entry is still in the journal,
 * because these may not have been copied yet.
 */
export interface AccountRecords {
  /** In ascending order of `seq`. */
  entries: readonly EntryDoc[];
  /** Credits of charged calls by call id. */
  charged: ReadonlyMap<string, number>;
  /** Credits of charged calls that count in the spend of a key. */
  spent: readonly Spent[];
  grants: readonly Pick<GrantDoc, 'requested' | 'applied' | 'shortfall'>[];
  /** Number of events by kind. */
  fired: ReadonlyMap<EventKind, number>;
}

/**
 * Recomputes every account from its ledger entries on one snapshot. Compares the balance, the balance and number of
 * each entry, reserved credits and holds, the spend of keys, charges and calls, grants, shortfall, and events.
 */
export async function audit(store: Store): Promise<Audit> {
  return store.client.withSession({ snapshot: true }, async (session) => {
    // The read concern is passed to each read, because that of a collection overrides that of the session.
    const snapshot = { session, readConcern: { level: 'snapshot' } } as const;
    const due = await findDueRefunds(store, snapshot);
    const late = due.filter(
      ({ finishedAt }) => Date.now() - (finishedAt?.getTime() ?? 0) > MAX_REFUND_DELAY_MS,
    );
    const result: Audit = {
      accounts: 0,
      ...(due.length > 0 && { owed: due.length }),
      drift: [
        ...(await findOrphans(store, snapshot)),
        ...late.map(({ _id, accountId, cost }) => ({
          accountId,
          what: `credits of the overdue refund of call ${_id}`,
          expected: 0,
          found: cost,
        })),
      ],
    };
    for await (const account of store.accounts.find({}, snapshot)) {
      result.accounts++;
      result.drift.push(...check(account, await readRecords(store, snapshot, account)));
    }
    return result;
  });
}

export interface AccountAudit {
  lines: number;
  balance: number;
  drift: Drift[];
}

/** Audits one account. Returns null if it does not exist. */
export async function auditAccount(store: Store, accountId: string): Promise<AccountAudit | null> {
  return store.client.withSession({ snapshot: true }, async (session) => {
    const snapshot = { session, readConcern: { level: 'snapshot' } } as const;
    const account = await store.accounts.findOne({ _id: accountId }, snapshot);
    if (account === null) return null;
    const records = await readRecords(store, snapshot, account);
    const lines = linesOf(account, records);
    const balance = lines.reduce((total, { amount }) => total + amount, 0);
    return { lines: lines.length, balance, drift: check(account, records) };
  });
}

async function findDueRefunds({ calls }: Store, snapshot: Snapshot): Promise<CallDoc[]> {
  const abandoned = await calls.find({ ...ABANDONED, state: 'charged' }, snapshot).toArray();
  return abandoned.filter(isRefundDue);
}

/** Finds ledger entries whose account does not exist. */
async function findOrphans({ entries }: Store, snapshot: Snapshot): Promise<Drift[]> {
  const orphans = await entries
    .aggregate<{ _id: string; lines: number }>(
      [
        { $group: { _id: '$accountId', lines: { $sum: 1 } } },
        { $lookup: { from: 'accounts', localField: '_id', foreignField: '_id', as: 'account' } },
        { $match: { account: { $size: 0 } } },
      ],
      snapshot,
    )
    .toArray();
  return orphans.map(({ _id, lines }) => ({
    accountId: _id,
    what: 'entries of an account that does not exist',
    expected: 0,
    found: lines,
  }));
}

/**
 * Returns the charges in the journal. Refunds are left out because they do not change the balance; a repeated refund
 * may remain in the journal long after the charge.
 */
const chargesInJournal = ({ journal }: AccountDoc): JournalEntry[] =>
  journal.filter((entry) => entry.state === 'charged');

async function readRecords(store: Store, snapshot: Snapshot, account: AccountDoc): Promise<AccountRecords> {
  const { _id: accountId } = account;
  const charges = chargesInJournal(account);
  const pending = {
    calls: charges.map((entry) => entry.callId),
    events: charges.flatMap((entry) => entry.events.map((event) => event.id)),
  };
  const charged = store.calls.find(
    { accountId, state: 'charged', _id: { $nin: pending.calls } },
    { ...snapshot, projection: { charged: 1, period: 1 } },
  );
  const fired = store.events.aggregate<{ _id: EventKind; count: number }>(
    [
      { $match: { accountId, _id: { $nin: pending.events, $not: TEST_EVENT_IDS } } },
      { $group: { _id: '$event', count: { $sum: 1 } } },
    ],
    snapshot,
  );
  const calls = await charged.toArray();
  return {
    entries: await store.entries.find({ accountId }, snapshot).sort({ seq: 1 }).toArray(),
    charged: new Map(calls.map((call) => [call._id, call.charged])),
    spent: calls.flatMap(({ charged: credits, period }) =>
      period === undefined ? [] : [{ credits, period }],
    ),
    grants: await store.grants.find({ accountId }, snapshot).toArray(),
    fired: new Map((await fired.toArray()).map(({ _id, count }) => [_id, count])),
  };
}

/**
 * Returns all entries in order, including charges in the journal. Journal charges count for the balance but may not
 * have been copied yet, so comparisons with copies exclude them.
 */
function linesOf(account: AccountDoc, { entries }: AccountRecords) {
  const known = new Set(entries.map((entry) => entry._id));
  return [
    ...entries,
    ...chargesInJournal(account)
      .filter((entry) => !known.has(entry.id))
      .map((entry) => ({ ...entry, amount: -entry.cost, type: 'charge' })),
  ].sort((a, b) => a.seq - b.seq);
}

/** Audits one account. A pure function, so that tests can pass falsified records. */
export function check(account: AccountDoc, records: AccountRecords): Drift[] {
  const { charged, spent, grants, fired } = records;
  const drift: Drift[] = [];
  const expect = (what: string, expected: number, found: number) => {
    if (expected !== found) drift.push({ accountId: account._id, what, expected, found });
  };
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

  const lines = linesOf(account, records);
  const inJournal = new Set(chargesInJournal(account).map((entry) => entry.callId));

  let balance = 0;
  const crossings = { low: 0, exhausted: 0 };
  const paid = new Map<string, number>();
  for (const [index, line] of lines.entries()) {
    expect('number of an entry', index + 1, line.seq);
    const before = balance;
    balance += line.amount;
    expect(`balance after entry ${line.seq}`, balance, line.balanceAfter);
    if (balance < 0) expect(`negative balance after entry ${line.seq}`, 0, balance);
    if (line.type !== 'charge' || line.callId === null || inJournal.has(line.callId)) continue;
    paid.set(line.callId, (paid.get(line.callId) ?? 0) - line.amount);
    if (before >= LOW_CREDITS && balance < LOW_CREDITS) crossings.low++;
    if (before > 0 && balance === 0) crossings.exhausted++;
  }
  expect('balance', balance, account.balance);
  expect('number of entries', lines.length, account.seq);

  const holds = Object.values(account.holds);
  expect('reserved', sum(holds.map((hold) => hold.cost)), account.reserved);
  for (const [pool, count] of Object.entries(account.running))
    expect(`running in ${pool}`, holds.filter((hold) => hold.pool === pool).length, count);
  if (account.reserved > account.balance) expect('reserved above balance', account.balance, account.reserved);

  const counted: Spent[] = [...holds, ...chargesInJournal(account)]
    .flatMap(({ cost, period }) => (period === undefined ? [] : [{ credits: cost, period }]))
    .concat(spent);
  for (const [keyId, { day, inDay, month, inMonth }] of Object.entries(account.keySpend ?? {})) {
    const total = (isIn: (period: SpendPeriod) => boolean) =>
      sum(
        counted.filter(({ period }) => period.keyId === keyId && isIn(period)).map(({ credits }) => credits),
      );
    expect(
      `spend of key ${keyId} in the day`,
      total((period) => +period.day === +day),
      inDay,
    );
    expect(
      `spend of key ${keyId} in the month`,
      total((period) => +period.month === +month),
      inMonth,
    );
  }

  for (const callId of new Set([...paid.keys(), ...charged.keys()]))
    expect(`credits of call ${callId}`, paid.get(callId) ?? 0, charged.get(callId) ?? 0);

  const total = (...types: string[]) =>
    sum(lines.filter(({ type }) => types.includes(type)).map(({ amount }) => amount));
  expect(
    'credits of grants',
    sum(grants.map(({ applied }) => applied)),
    total('purchase', 'allowance', 'adjustment'),
  );
  expect('shortfall', sum(grants.map(({ shortfall }) => shortfall)) + total('recovery'), account.shortfall);

  const events = (kind: EventKind) => fired.get(kind) ?? 0;
  expect('credits.low events', crossings.low, events('credits.low'));
  expect('credits.exhausted events', crossings.exhausted, events('credits.exhausted'));
  const added = grants.filter(({ requested }) => requested > 0);
  expect('credits.granted events', added.length, events('credits.granted'));
  return drift;
}

export async function recordAudit({ maintenance }: Pick<Store, 'maintenance'>, result: Audit): Promise<void> {
  await maintenance.updateOne(
    { _id: 'audit' },
    { $set: { succeededAt: new Date(), drift: result.drift.length } },
    { upsert: true },
  );
}

export async function recordFailedAudit({ maintenance }: Pick<Store, 'maintenance'>): Promise<void> {
  await maintenance.updateOne({ _id: 'audit' }, { $set: { failedAt: new Date() } }, { upsert: true });
}
