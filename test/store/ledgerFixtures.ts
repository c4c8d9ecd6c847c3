import { randomUUID } from 'node:crypto';
import type { Pool } from '../../schemas/pools.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import type { Reservation } from '../../store/ledger/ledger.ts';
import { ensureIndexes } from '../../store/mongo/indexes.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { startDatabase } from '../helpers/stack.ts';

/** Age in milliseconds of inserted calls: above the minimum age at which the sweeper checks a call. */
const LONG_AGO_MS = 60_000;

/**
 * Timeout in milliseconds of one command: far above the service's own, because the disk of a machine that runs other tests
 * can stall for seconds, and these tests are not about timeouts.
 */
const COMMAND_MS = 60_000;

const POOL: Pool = 'cpu';

/** Threshold of the alert of accounts that `openCall` creates. */
export const ALERT = 30;

/** Opens several new databases; tests that sweep need one each, because the sweeper works on a whole database. */
export async function openDatabases(count: number): Promise<{ stores: Store[] } & AsyncDisposable> {
  await using open = new AsyncDisposableStack();
  const stores: Store[] = [];
  for (let i = 0; i < count; i++) {
    const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
    const store = open.adopt(await openStore(mongodbUri, COMMAND_MS), (it) => it.close());
    await ensureIndexes(store);
    stores.push(store);
  }
  const opened = open.move();
  return { stores, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Returns the document of a running call that was accepted one minute ago. */
function callRow(call: Reservation): CallDoc {
  const at = new Date(Date.now() - LONG_AGO_MS);
  return {
    _id: call.callId,
    accountId: call.accountId,
    keyId: null,
    keyPrefix: null,
    tool: call.tool,
    cost: call.price,
    charged: 0,
    state: 'running',
    code: null,
    requestId: `req_${call.callId}`,
    startedAt: at,
    touchedAt: at,
    finishedAt: null,
    actsOnWorld: false,
  };
}

/** Inserts running calls that were accepted one minute ago. */
export async function insertCalls(store: Store, calls: readonly Reservation[]): Promise<void> {
  await store.calls.insertMany(calls.map(callRow));
}

/** Creates an account with credits and an alert, and accepts one call with an Idempotency-Key. */
export async function openCall(
  store: Store,
  { credits, price }: { credits: number; price: number },
): Promise<Reservation> {
  const callId = randomUUID();
  const accounts = createAccounts(store);
  const account = await accounts.create({ email: `${callId}@example.com`, credits });
  await accounts.addAlert(account._id, ALERT);
  const call = { callId, accountId: account._id, tool: 'hash-text', pool: POOL, price, maxRunning: 64 };
  const expiresAt = new Date(Date.now() + 86_400_000);
  const idempotency = { key: 'the-key', fingerprint: null, expiresAt };
  await store.calls.insertOne({ ...callRow(call), idempotency });
  return call;
}

/** Returns the account, call and ledger entries of an account's only call. */
export async function readLedger(store: Store, { callId, accountId }: Reservation) {
  const [account, call, entries, events, notices] = await Promise.all([
    // Copying the journal does not wait for a majority of the replica set, so its writes are visible only with read
    // concern `local`.
    store.accounts.findOne({ _id: accountId }, { readConcern: { level: 'local' } }),
    store.calls.findOne({ _id: callId }),
    store.entries.find({ accountId }).sort({ seq: 1 }).toArray(),
    store.events.find({ accountId }).toArray(),
    store.notices.find({ accountId, kind: 'balance' }).toArray(),
  ]);
  if (account === null || call === null) throw new Error('no such account or call');
  return {
    balance: account.balance,
    reserved: account.reserved,
    running: account.running[POOL] ?? 0,
    holds: Object.keys(account.holds).length,
    journal: account.journal.length,
    state: call.state,
    charged: call.charged,
    keyBound: call.idempotency !== undefined,
    charges: entries.filter((entry) => entry.type === 'charge').map((entry) => entry.amount),
    total: entries.reduce((sum, entry) => sum + entry.amount, 0),
    events: events.map(({ event }) => event).sort(),
    /** Number of charges that crossed the threshold of the alert, and of notices about that. */
    crossings: entries.filter(
      ({ type, amount, balanceAfter }) =>
        type === 'charge' && balanceAfter < ALERT && balanceAfter - amount >= ALERT,
    ).length,
    notices: notices.length,
  };
}
