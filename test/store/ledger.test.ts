import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { sweep } from '../../store/calls/sweeper.ts';
import { audit } from '../../store/ledger/audit.ts';
import { createLedger, type Ledger, type Reservation, type Settled } from '../../store/ledger/ledger.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { until } from '../helpers/until.ts';
import { interceptStore } from './intercept.ts';
import { insertCalls, openCall, openDatabases, readLedger } from './ledgerFixtures.ts';

/**
 * Maximum length of the sequences of operations. The test runs every sequence up to this length; operations may repeat.
 */
const LENGTH = Number(process.env.TEST_SEQUENCE_LENGTH ?? 2);
const DATABASES = 4;
const CREDITS = 30;
const PRICE = 10;

const fail = (error: unknown): never => {
  throw error;
};

/**
 * Operations on a call. `zombie` is a reservation whose process dies after it has placed the hold and before it has
 * read the call.
 */
const STEPS = ['reserve', 'zombie', 'charge', 'refund', 'sweepClosed', 'sweepOpen'] as const;
type Step = (typeof STEPS)[number];

const sequences = (length: number): Step[][] =>
  length === 0 ? [[]] : sequences(length - 1).flatMap((head) => STEPS.map((step) => [...head, step]));

const ALL = Array.from({ length: LENGTH }, (_, i) => sequences(i + 1)).flat();

/** Reference model of a call: the first operation that ends the call decides its final state. */
class Model {
  ending: 'charged' | 'refunded' | null = null;
  held = false;
  /** Whether a reservation succeeded and its hold still exists. */
  mayCharge = false;

  reserve(): 'held' | 'closed' {
    if (this.ending !== null) {
      this.held = false; // a late reservation releases a leftover hold of the ended call
      return 'closed';
    }
    this.held = true;
    this.mayCharge = true;
    return 'held';
  }

  settle(wanted: 'charged' | 'refunded'): 'charged' | 'refunded' {
    if (wanted === 'charged' && !this.mayCharge) return this.ending ?? 'refunded';
    this.held = false;
    this.ending ??= wanted;
    return this.ending;
  }
}

async function dieAfterHold(store: Store, call: Reservation): Promise<void> {
  const dying = interceptStore(store, (name, run) =>
    name === 'calls.find' ? Promise.reject(new Error('killed')) : run(),
  );
  try {
    await createLedger(dying, fail).reserve(call);
  } catch {
    // The call has already ended, or there was no hold, so the process was not killed.
  }
}

/** Runs the operations on the ledger and on the model. @returns the differences */
async function playSequence(store: Store, steps: readonly Step[], pulled: boolean): Promise<string[]> {
  const call = await openCall(store, { credits: CREDITS, price: PRICE });
  const { callId, accountId } = call;
  const ledger = createLedger(store, fail, 2 ** 31 - 1);
  const model = new Model();
  let nonce: string | null = null;
  const wrong: string[] = [];
  const expect = (what: string, expected: unknown, found: unknown) => {
    if (expected !== found) wrong.push(`${what}: ${found}, not ${expected}`);
  };

  for (const step of steps) {
    if (step === 'reserve') {
      const answer = await ledger.reserve(call);
      expect('reserve', model.reserve(), answer.status);
      if (answer.status === 'held') nonce = answer.nonce;
    } else if (step === 'zombie') {
      // The late hold is kept if the account document no longer records that the call has ended.
      if (model.ending === null || pulled) model.held = true;
      await dieAfterHold(store, call);
    } else if (step === 'charge') {
      if (nonce === null) continue; // only a workflow that reserved the credits can charge the call
      const { state } = await ledger.settle({ callId, accountId, wanted: 'charged', nonce });
      expect('charge', model.settle('charged'), state);
      if (model.ending !== null) model.mayCharge = false;
    } else if (step === 'refund') {
      const wanted = 'refunded';
      const { state } = await ledger.settle({ callId, accountId, wanted, code: 'cancelled', release: true });
      expect('refund', model.settle(wanted), state);
      model.mayCharge = false;
    } else {
      const closed = step === 'sweepClosed';
      await sweep(store, ledger, async () => closed);
      if (closed && model.ending === null) model.settle('refunded');
      if (model.ending !== null) {
        model.held = false;
        model.mayCharge = false;
      }
    }
    if (pulled) await ledger.flush();
    const { balance, reserved, charges } = await readLedger(store, call);
    const charged = model.ending === 'charged';
    expect(`balance after ${step}`, charged ? CREDITS - PRICE : CREDITS, balance);
    expect(`reserved after ${step}`, model.held ? PRICE : 0, reserved);
    expect(`charges after ${step}`, charged ? 1 : 0, charges.length);
  }

  await sweep(store, ledger, async () => true);
  await ledger.flush();
  const ledgerState = await readLedger(store, call);
  const charged = model.ending === 'charged';
  expect(
    'available in the end',
    charged ? CREDITS - PRICE : CREDITS,
    ledgerState.balance - ledgerState.reserved,
  );
  expect('total of the statement', ledgerState.balance, ledgerState.total);
  expect('ended', false, ledgerState.state === 'running');
  expect('charged by its row', charged, ledgerState.state === 'charged');
  expect('journal', 0, ledgerState.journal);
  expect('events', charged ? 'credits.low' : '', ledgerState.events.join());
  expect('alerts', charged ? 1 : 0, ledgerState.notices);
  await Promise.all([store.accounts.deleteOne({ _id: accountId }), store.calls.deleteOne({ accountId })]);
  return wrong;
}

for (const pulled of [true, false])
  test.serial(
    `${ALL.length} sequences of operations on one call, journal ${pulled ? 'pulled' : 'kept'} after each: the first operation that ends the call decides`,
    async (t) => {
      t.timeout(ALL.length * 1000 + 300_000);
      await using databases = await openDatabases(DATABASES);
      const open = [...ALL];
      const wrong: string[] = [];
      await Promise.all(
        databases.stores.map(async (store) => {
          for (let steps = open.pop(); steps !== undefined; steps = open.pop())
            for (const fault of await playSequence(store, steps, pulled))
              wrong.push(`${steps.join()}: ${fault}`);
        }),
      );
      t.deepEqual(wrong.slice(0, 20), []);
    },
  );

/** Charges calls of one account as fast as possible until `stop` is aborted. @returns the number of charges */
async function keepHot(store: Store, ledger: Ledger, first: Reservation, stop: AbortSignal): Promise<number> {
  let paid = 0;
  while (!stop.aborted) {
    const callId = randomUUID();
    const row = await store.calls.findOne({ _id: first.callId });
    if (row === null) throw new Error('no row');
    const { idempotency: _, ...plain } = row;
    await store.calls.insertOne({ ...plain, _id: callId, state: 'running', charged: 0 });
    const held = await ledger.reserve({ ...first, callId, price: 1, maxRunning: null });
    if (held.status !== 'held') throw new Error(held.status);
    await ledger.settle({ callId, accountId: first.accountId, wanted: 'charged', nonce: held.nonce });
    paid++;
  }
  return paid;
}

test('a grant succeeds on an account that is busy with calls', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const call = await openCall(store, { credits: 1_000_000, price: 1 });
  const ledger = createLedger(store, (error) => t.fail(String(error)));
  const stop = new AbortController();
  const callers = Array.from({ length: 16 }, () => keepHot(store, ledger, call, stop.signal));
  const { accountId } = call;
  const accounts = createAccounts(store);
  const charged = () => store.entries.countDocuments({ accountId, type: 'charge' });
  const grants = 5;
  for (let i = 0; i < grants; i++) {
    const before = await charged();
    await until('calls are charged', async () => (await charged()) > before);
    await accounts.grant({ accountId, type: 'purchase', amount: 7, reference: `p${i}`, reason: null });
  }
  stop.abort();
  const paid = (await Promise.all(callers)).reduce((sum, count) => sum + count, 0);
  await ledger.flush();
  t.log(`${grants} grants during ${paid} calls`);
  t.is((await store.accounts.findOne({ _id: accountId }))?.balance, 1_000_000 + grants * 7 - paid);
  t.deepEqual((await audit(store)).drift, []);
});

test('concurrent operations on one account share a database update, and each gets its own result', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const credits = 60;
  const first = await openCall(store, { credits, price: 1 });
  const calls = Array.from({ length: 100 }, () => ({ ...first, callId: randomUUID(), maxRunning: null }));
  await insertCalls(store, calls);
  let updates = 0;
  const counted = interceptStore(store, (name, run) => {
    if (name === 'accounts.findOneAndUpdate') updates++;
    return run();
  });
  const ledger = createLedger(counted, (error) => t.fail(String(error)));

  const answers = await Promise.all(calls.map((call) => ledger.reserve(call)));
  t.deepEqual(
    answers.map(({ status }) => status),
    calls.map((_, i) => (i < credits ? 'held' : 'insufficient')),
    'served in order of arrival',
  );
  t.is((await store.accounts.findOne({ _id: first.accountId }))?.reserved, credits);

  const endings = await Promise.all(
    answers.flatMap((answer, i) => {
      const call = calls[i];
      if (call === undefined || answer.status !== 'held') return [];
      const { callId, accountId } = call;
      const charge = ledger.settle({ callId, accountId, wanted: 'charged', nonce: answer.nonce });
      const refund = () =>
        ledger.settle({ callId, accountId, wanted: 'refunded', code: 'cancelled', release: true });
      return i % 2 === 0 ? [charge, refund()] : [charge];
    }),
  );
  t.true(
    endings.every(({ state }) => state === 'charged'),
    'a refund that comes later in the same update is too late',
  );
  await ledger.flush();
  t.log(`${updates} updates`);
  t.true(updates < 20);
  const account = await store.accounts.findOne({ _id: first.accountId });
  t.is(account?.balance, 0);
  t.is(account?.reserved, 0);
  t.deepEqual((await audit(store)).drift, []);
});

test('a sweep skips a call whose state is unknown, and leaves no operation pending when it fails', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const first = await openCall(store, { credits: 100, price: 1 });
  const calls = Array.from({ length: 60 }, () => ({ ...first, callId: randomUUID(), maxRunning: null }));
  await insertCalls(store, calls);
  const ledger = createLedger(store, (error) => t.fail(String(error)));
  await Promise.all(calls.map((call) => ledger.reserve(call)));
  const running = () => store.calls.countDocuments({ state: 'running' });
  const unknown = calls[30]?.callId;
  const isOver = async (callId: string) => {
    if (callId === unknown) throw new Error('no answer');
    return true;
  };

  await t.throwsAsync(sweep(store, ledger, isOver), { message: 'no answer' });
  const left = await running();
  t.true(left < calls.length, 'the calls whose state is known have ended');
  await ledger.flush();
  t.is(await running(), left);
  t.is((await store.calls.findOne({ _id: unknown ?? '' }))?.state, 'running');

  t.is((await sweep(store, ledger, async () => true)).ended, left);
  await ledger.flush();
  t.is(await running(), 0);
  const account = await store.accounts.findOne({ _id: first.accountId });
  t.deepEqual([account?.balance, account?.reserved, account?.holds], [100, 0, {}]);
  t.deepEqual((await audit(store)).drift, []);
});

/** Reserves the price of a call. Returns a function that charges the call and may be called several times. */
async function reserveFor(ledger: Ledger, call: Reservation): Promise<() => Promise<Settled>> {
  const { callId, accountId } = call;
  const held = await ledger.reserve(call);
  if (held.status !== 'held') throw new Error(held.status);
  return () => ledger.settle({ callId, accountId, wanted: 'charged', nonce: held.nonce });
}

test('an entry stays in the journal until it is in the ledger, even while other processes copy the journal', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const call = await openCall(store, { credits: CREDITS, price: PRICE });
  const begun = Promise.withResolvers<void>();
  const broken = Promise.withResolvers<never>();
  let stalls = 1;
  const slow = interceptStore(store, (name, run) => {
    if (name !== 'calls.bulkWrite' || stalls-- <= 0) return run();
    begun.resolve();
    return broken.promise;
  });
  const ledger = createLedger(slow, fail, 2 ** 31 - 1);
  const charge = await reserveFor(ledger, call);
  const journal = async () => (await readLedger(store, call)).journal;

  const charging = charge();
  await begun.promise;
  await ledger.flush();
  t.is(await journal(), 1, 'the entry is being copied');
  broken.reject(new Error('no answer'));
  await t.throwsAsync(charging, { message: 'no answer' });
  await ledger.flush();
  t.is(await journal(), 1, 'the entry was not copied');

  t.is((await charge()).state, 'charged');
  await ledger.flush();
  t.like(await readLedger(store, call), {
    journal: 0,
    state: 'charged',
    charges: [-PRICE],
    balance: CREDITS - PRICE,
  });
  t.deepEqual((await audit(store)).drift, []);
});

test('entries that could not be removed from the journal are removed with the next batch', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const call = await openCall(store, { credits: CREDITS, price: PRICE });
  let cuts = 1;
  const cut = interceptStore(store, (name, run) =>
    name === 'accounts.bulkWrite' && cuts-- > 0 ? Promise.reject(new Error('no answer')) : run(),
  );
  const ledger = createLedger(cut, fail, 2 ** 31 - 1);
  const charge = await reserveFor(ledger, call);
  t.is((await charge()).state, 'charged');
  await t.throwsAsync(ledger.flush(), { message: 'no answer' });
  t.is((await readLedger(store, call)).journal, 1);
  await ledger.flush();
  t.like(await readLedger(store, call), { journal: 0, charges: [-PRICE], balance: CREDITS - PRICE });
});

test('a charge that crosses thresholds creates one notice, again after a grant, and none for other changes', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const first = await openCall(store, { credits: 50, price: 1 });
  const { accountId } = first;
  const accounts = createAccounts(store);
  for (const threshold of [10, 40, 40, 100]) await accounts.addAlert(accountId, threshold);
  const ledger = createLedger(store, fail, 2 ** 31 - 1);
  const spend = async (price: number) => {
    const call = { ...first, callId: randomUUID(), price };
    await insertCalls(store, [call]);
    const charge = await reserveFor(ledger, call);
    await charge();
    await charge();
    await ledger.flush();
  };
  const notices = async () => {
    const rows = await store.notices.find({ accountId, kind: 'balance' }).sort({ at: 1 }).toArray();
    return rows.map((row) => row.kind === 'balance' && [row.balance, row.thresholds.toSorted()]);
  };
  await spend(10);
  t.deepEqual(await notices(), [], 'the balance is at the threshold');
  await spend(11);
  t.deepEqual(await notices(), [[29, [30, 40]]]);
  await spend(1);
  const grant = (amount: number, reference: string) =>
    accounts.grant({ accountId, type: 'adjustment', amount, reference, reason: null });
  await grant(-10, 'taken');
  await grant(32, 'given');
  t.is((await notices()).length, 1, 'the balance is 50 again');
  await accounts.removeAlert(accountId, 40);
  await spend(45);
  t.deepEqual(await notices(), [
    [29, [30, 40]],
    [5, [10, 30]],
  ]);

  for (let threshold = 1; threshold <= 7; threshold++) await accounts.addAlert(accountId, threshold);
  await accounts.addAlert(accountId, 7);
  await t.throwsAsync(accounts.addAlert(accountId, 8), { message: /limit of 10 alerts/ });
});

test('a repeated charge does not consume the hold of a late reservation', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const call = await openCall(store, { credits: CREDITS, price: PRICE });
  const ledger = createLedger(store, fail, 2 ** 31 - 1);
  const charge = await reserveFor(ledger, call);
  t.is((await charge()).state, 'charged');
  // The journal is copied, so the account document no longer records that the call has ended.
  await ledger.flush();
  await dieAfterHold(store, call);
  const late = {
    balance: CREDITS - PRICE,
    charges: [-PRICE],
    total: CREDITS - PRICE,
    holds: 1,
    reserved: PRICE,
  };
  t.like(await readLedger(store, call), late);

  t.is((await charge()).state, 'charged');
  await ledger.flush();
  t.like(await readLedger(store, call), late);
  t.is((await sweep(store, ledger, async () => true)).strayHolds, 1);
  t.like(await readLedger(store, call), { ...late, holds: 0, reserved: 0 });
  t.deepEqual((await audit(store)).drift, []);
});

test('a reservation of a charged call tells that it is charged, while the entry of a later refund is in the journal', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const call = await openCall(store, { credits: CREDITS, price: PRICE });
  const { callId, accountId } = call;
  const ledger = createLedger(store, fail, 2 ** 31 - 1);
  const charge = await reserveFor(ledger, call);
  t.is((await charge()).state, 'charged');
  const closed = { status: 'closed', code: null, available: CREDITS - PRICE, charged: true } as const;
  t.deepEqual(await ledger.reserve(call), closed);
  // The journal is copied, so the refund finds no entry of the charge.
  await ledger.flush();
  t.deepEqual(await ledger.reserve(call), closed);
  const refund = { callId, accountId, wanted: 'refunded', code: 'target_failed', release: true } as const;
  t.is((await ledger.settle(refund)).state, 'charged');
  t.is((await store.accounts.findOne({ _id: accountId }))?.journal.length, 1);
  t.deepEqual(await ledger.reserve(call), closed);
});
