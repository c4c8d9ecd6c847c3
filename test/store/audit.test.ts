import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { AccountDoc, EntryDoc } from '../../store/accounts/accountDocs.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createCalls } from '../../store/calls/calls.ts';
import { type AccountRecords, type Audit, audit, check } from '../../store/ledger/audit.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { ensureIndexes } from '../../store/mongo/indexes.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { startDatabase } from '../helpers/stack.ts';

let store: Store;
let database: Awaited<ReturnType<typeof startDatabase>>;

test.before(async () => {
  database = await startDatabase();
  store = await openStore(database.mongodbUri);
  await ensureIndexes(store);
});
test.after.always(async () => {
  await store?.close();
  await database?.stop();
});

const KEY = { id: 'key_1', dailyBudget: 100, monthlyBudget: null };

/** Reserves and charges a call of 5 credits, as its workflow would. */
async function charge(accountId: string): Promise<string> {
  const callId = randomUUID();
  const tool = { tool: 'hash-text', pool: 'cpu', price: 5 } as const;
  await createCalls(store).claim({
    _id: callId,
    accountId,
    keyId: KEY.id,
    keyPrefix: null,
    tool: tool.tool,
    cost: tool.price,
    requestId: 'req_1',
    actsOnWorld: false,
  });
  const ledger = createLedger(store, (error) => console.error(error));
  const held = await ledger.reserve({ ...tool, callId, accountId, maxRunning: null, key: KEY });
  if (held.status !== 'held') throw new Error(held.status);
  await ledger.settle({ callId, accountId, wanted: 'charged', nonce: held.nonce });
  await ledger.flush();
  return callId;
}

/**
 * Creates an account with one ledger entry of each kind: 30 credits at sign-up, two charges, a deduction that takes
 * more than is left, a grant, and a settled shortfall.
 */
async function writeLedger(): Promise<{ accountId: string; callId: string }> {
  const accounts = createAccounts(store);
  const { _id: accountId } = await accounts.create({ email: `${randomUUID()}@example.com`, credits: 30 });
  const callId = await charge(accountId);
  await charge(accountId);
  const adjust = (amount: number, reference: string) =>
    accounts.grant({ accountId, type: 'adjustment', amount, reference, reason: 'test' });
  await adjust(-50, 'taken');
  await adjust(100, 'given');
  return { accountId, callId };
}

const found = ({ drift }: Audit, accountId: string): string[] =>
  drift.filter((row) => row.accountId === accountId).map(({ what }) => what);

test('an unmodified ledger has no drift', async (t) => {
  const { accountId } = await writeLedger();
  const account = await store.accounts.findOne({ _id: accountId });
  t.like(account, { balance: 70, shortfall: 0, reserved: 0, seq: 6 });
  t.deepEqual(found(await audit(store), accountId), []);
});

/** Manipulations of the ledger and the drift that the audit must report. */
const MANIPULATIONS: Record<
  string,
  { manipulate(account: { accountId: string; callId: string }): Promise<unknown>; finds: RegExp }
> = {
  'a balance': {
    manipulate: ({ accountId: _id }) => store.accounts.updateOne({ _id }, { $inc: { balance: 1 } }),
    finds: /^balance$/,
  },
  'the reserved credits': {
    manipulate: ({ accountId: _id }) => store.accounts.updateOne({ _id }, { $inc: { reserved: 1 } }),
    finds: /^reserved$/,
  },
  'more reserved than the balance': {
    manipulate: ({ accountId: _id }) => store.accounts.updateOne({ _id }, { $set: { reserved: 71 } }),
    finds: /^reserved above balance$/,
  },
  'the count of running calls': {
    manipulate: ({ accountId: _id }) => store.accounts.updateOne({ _id }, { $set: { 'running.cpu': 2 } }),
    finds: /^running in cpu$/,
  },
  'the credits that a key has spent today': {
    manipulate: ({ accountId: _id }) =>
      store.accounts.updateOne({ _id }, { $inc: { 'keySpend.key_1.inDay': -1 } }),
    finds: /^spend of key key_1 in the day$/,
  },
  'the credits that a key has spent this month': {
    manipulate: ({ accountId: _id }) =>
      store.accounts.updateOne({ _id }, { $inc: { 'keySpend.key_1.inMonth': 1 } }),
    finds: /^spend of key key_1 in the month$/,
  },
  'a removed shortfall': {
    manipulate: ({ accountId: _id }) => store.accounts.updateOne({ _id }, { $set: { shortfall: 3 } }),
    finds: /^shortfall$/,
  },
  'a removed last entry': {
    manipulate: ({ accountId }) => store.entries.deleteOne({ accountId, seq: 6 }),
    finds: /^number of entries$/,
  },
  'a removed entry': {
    manipulate: ({ accountId }) => store.entries.deleteOne({ accountId, seq: 4 }),
    finds: /^number of an entry$/,
  },
  'the amount of an entry': {
    manipulate: ({ accountId }) => store.entries.updateOne({ accountId, seq: 3 }, { $set: { amount: -4 } }),
    finds: /^balance after entry 3$/,
  },
  'an amount that makes the balance negative': {
    manipulate: ({ accountId }) => store.entries.updateOne({ accountId, seq: 3 }, { $set: { amount: -40 } }),
    finds: /^negative balance after entry 3$/,
  },
  'a charge reversed by hand': {
    manipulate: ({ callId: _id }) =>
      store.calls.updateOne({ _id }, { $set: { state: 'refunded', charged: 0 } }),
    finds: /^credits of call /,
  },
  'a charge of another amount': {
    manipulate: ({ callId: _id }) => store.calls.updateOne({ _id }, { $set: { charged: 6 } }),
    finds: /^credits of call /,
  },
  'a charged call without an entry': {
    async manipulate({ accountId, callId }) {
      const call = await store.calls.findOne({ _id: callId });
      if (call !== null) await store.calls.insertOne({ ...call, _id: randomUUID(), accountId });
    },
    finds: /^credits of call /,
  },
  'an entry that names another call': {
    manipulate: ({ callId }) => store.entries.updateOne({ callId }, { $set: { callId: randomUUID() } }),
    finds: /^credits of call /,
  },
  'a modified grant': {
    manipulate: ({ accountId }) =>
      store.grants.updateOne({ accountId, requested: 100 }, { $set: { applied: 90 } }),
    finds: /^credits of grants$/,
  },
  'a missing credits.low event': {
    manipulate: ({ accountId }) => store.events.deleteOne({ accountId, event: 'credits.low' }),
    finds: /^credits\.low events$/,
  },
  'an unjustified credits.exhausted event': {
    manipulate: ({ accountId }) =>
      store.events.insertOne({
        _id: `evt_${randomUUID()}`,
        accountId,
        event: 'credits.exhausted',
        createdAt: new Date(),
        data: {},
      }),
    finds: /^credits\.exhausted events$/,
  },
  'a missing credits.granted event': {
    manipulate: ({ accountId }) => store.events.deleteOne({ accountId, event: 'credits.granted' }),
    finds: /^credits\.granted events$/,
  },
  'a deleted account': {
    manipulate: ({ accountId: _id }) => store.accounts.deleteOne({ _id }),
    finds: /^entries of an account that does not exist$/,
  },
};

for (const [name, { manipulate, finds }] of Object.entries(MANIPULATIONS))
  test.serial(`the audit finds a manipulated ledger: ${name}`, async (t) => {
    const [manipulated, honest] = [await writeLedger(), await writeLedger()];
    await manipulate(manipulated);
    const result = await audit(store);
    const drift = found(result, manipulated.accountId);
    t.true(
      drift.some((what) => finds.test(what)),
      drift.join('; '),
    );
    t.deepEqual(found(result, honest.accountId), []);
  });

/** Returns the ledger of an account that started with 30 credits and paid 10 for one call. */
function makeLedger(): { account: AccountDoc; of: AccountRecords; line: EntryDoc } {
  const common = { accountId: 'acc_1', at: new Date(), source: null, reference: null };
  const line: EntryDoc = {
    ...common,
    _id: 'ent_2',
    seq: 2,
    type: 'charge',
    amount: -10,
    balanceAfter: 20,
    callId: 'call',
    tool: 'hash-text',
  };
  const first: EntryDoc = {
    ...common,
    _id: 'ent_1',
    seq: 1,
    type: 'signup',
    amount: 30,
    balanceAfter: 30,
    callId: null,
    tool: null,
  };
  const account: AccountDoc = {
    _id: 'acc_1',
    email: 'a@example.com',
    createdAt: new Date(),
    balance: 20,
    reserved: 0,
    shortfall: 0,
    seq: 2,
    monthlyAllowance: 0,
    keysMade: 0,
    running: {},
    holds: {},
    journal: [],
  };
  const of = {
    entries: [first, line],
    charged: new Map([['call', 10]]),
    spent: [],
    grants: [],
    fired: new Map([['credits.low', 1] as const]),
  };
  return { account, of, line };
}

test('a charge in the journal counts once before, during and after it is copied to the ledger', (t) => {
  const { account, of, line } = makeLedger();
  const [first] = of.entries;
  if (first === undefined) throw new Error('no entry');
  const journal: AccountDoc['journal'] = [
    {
      id: line._id,
      callId: 'call',
      tool: 'hash-text',
      state: 'charged',
      cost: 10,
      at: line.at,
      code: null,
      release: false,
      seq: 2,
      balanceAfter: 20,
      events: [{ id: 'evt_1', event: 'credits.low' }],
    },
  ];
  const pending = { ...of, charged: new Map(), fired: new Map() };
  t.deepEqual(check(account, of), []);
  t.deepEqual(check({ ...account, journal }, { ...pending, entries: [first] }), []);
  t.deepEqual(check({ ...account, journal }, pending), []);
});

test('a drift names the account, the difference and both numbers', (t) => {
  const { account, of } = makeLedger();
  t.deepEqual(check({ ...account, balance: 21 }, of), [
    { accountId: 'acc_1', what: 'balance', expected: 20, found: 21 },
  ]);
});

test('the audit finds a call that was charged twice', (t) => {
  const { account, of, line } = makeLedger();
  const twice = { ...line, _id: 'ent_3', seq: 3, balanceAfter: 10 };
  const drift = check({ ...account, balance: 10, seq: 3 }, { ...of, entries: [...of.entries, twice] });
  t.deepEqual(drift, [{ accountId: 'acc_1', what: 'credits of call call', expected: 20, found: 10 }]);
});

test('the audit finds holds that do not add up to the reserved credits of each pool', (t) => {
  const { account, of } = makeLedger();
  const holds = {
    running: { nonce: 'n', tool: 'hash-text', pool: 'cpu' as const, cost: 5, at: new Date() },
  };
  t.deepEqual(check({ ...account, holds, reserved: 5, running: { cpu: 1 } }, of), []);
  t.deepEqual(
    check({ ...account, holds, reserved: 4, running: { cpu: 1, network: 1 } }, of).map(({ what }) => what),
    ['reserved', 'running in network'],
  );
});
