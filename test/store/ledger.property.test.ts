import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { Pool } from '../../schemas/pools.ts';
import type { EntryType } from '../../store/accounts/accountDocs.ts';
import { type Accounts, createAccounts } from '../../store/accounts/accounts.ts';
import { sweep } from '../../store/calls/sweeper.ts';
import { audit } from '../../store/ledger/audit.ts';
import { createLedger, type Ledger, type Reservation } from '../../store/ledger/ledger.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { createRandom, type Random, seededRandom } from '../helpers/random.ts';
import { crashing, retryUntilDone } from './crashes.ts';
import { interceptStore } from './intercept.ts';
import { ModelAccount } from './ledger.model.ts';
import { insertCalls, openDatabases } from './ledgerFixtures.ts';

const OPERATIONS = Number(process.env.TEST_OPERATIONS ?? 8_000);
const WRITERS = 24;
/** Number of processes. The steps of their writers share commands. */
const PROCESSES = 4;
/** Limits the number of entries of a statement, because the test reads the statement after each operation. */
const OPERATIONS_BY_ACCOUNT = 100;
/** Number of calls that the test accepts with one insert. */
const ACCEPTED_AT_ONCE = 10;
const ACCOUNTS_BY_WRITER = Math.ceil(OPERATIONS / OPERATIONS_BY_ACCOUNT / WRITERS);
const POOLS: readonly Pool[] = ['cpu', 'network'];
const MAX_RUNNING = 3;
/** Thresholds of the alerts of each account. */
const ALERTS = [10, 40];

interface Call extends Reservation {
  nonce: string | null;
}

interface Subject {
  id: string;
  model: ModelAccount;
  calls: Call[];
  /** Accepted calls on which no operation has run yet. */
  fresh: Call[];
}

type Mismatch = (what: string, expected: unknown, found: unknown) => void;

/** Runs one operation. The function that it returns applies the result to the model and checks it. */
type Operation = () => Promise<() => void>;

class Writer {
  readonly #random: Random;
  readonly #store: Store;
  readonly #ledger: Ledger;
  readonly #accounts: Accounts;
  readonly #mismatch: Mismatch;

  constructor(store: Store, ledger: Ledger, random: Random, mismatch: Mismatch) {
    this.#random = random;
    this.#store = store;
    this.#mismatch = mismatch;
    this.#ledger = ledger;
    this.#accounts = createAccounts(interceptStore(store, crashing(random)));
  }

  async #accept(subject: Subject): Promise<Call> {
    if (subject.fresh.length === 0) {
      for (let i = 0; i < ACCEPTED_AT_ONCE; i++) {
        const price = this.#random.integer(1, 12);
        const pool = this.#random.pick(POOLS);
        const callId = randomUUID();
        const reservation = { callId, accountId: subject.id, tool: 'hash-text', pool, price };
        subject.fresh.push({ ...reservation, maxRunning: MAX_RUNNING, nonce: null });
        subject.model.accept(callId);
      }
      await insertCalls(this.#store, subject.fresh);
    }
    const call = subject.fresh.pop();
    if (call === undefined) throw new Error('no call was accepted');
    subject.calls.push(call);
    return call;
  }

  #reserve({ model }: Subject, call: Call, alone: boolean): Operation {
    const { callId, price, pool } = call;
    return async () => {
      const answer = await retryUntilDone(() => this.#ledger.reserve(call));
      if (answer.status === 'held') call.nonce = answer.nonce;
      return () => {
        if (alone) {
          const expected = model.reserve(callId, price, pool, MAX_RUNNING);
          this.#mismatch('reserve', expected, answer.status);
          if (answer.status === 'closed')
            this.#mismatch('charged', model.calls.get(callId) === 'charged', answer.charged ?? false);
          this.#mismatch('available', model.balance - model.reserved, answer.available);
        } else if (answer.status === 'held' && model.calls.get(callId) === 'running')
          model.hold(callId, price, pool);
      };
    };
  }

  #settle({ model, id }: Subject, call: Call, wanted: 'charged' | 'refunded', alone: boolean): Operation {
    const { callId, nonce } = call;
    return async () => {
      const { state, available } = await retryUntilDone(() =>
        this.#ledger.settle(
          wanted === 'charged'
            ? { callId, accountId: id, wanted, nonce: nonce ?? 'none' }
            : { callId, accountId: id, wanted, code: 'target_failed', release: true },
        ),
      );
      return () => {
        // If settlements run concurrently, the first decides the final state, and all return that state.
        this.#mismatch('settle', model.settle(callId, alone ? wanted : state), state);
        if (alone) this.#mismatch('available', model.balance - model.reserved, available);
      };
    };
  }

  #grant(
    subject: Subject,
    type: Exclude<EntryType, 'signup' | 'charge' | 'recovery'>,
    alone: boolean,
  ): Operation {
    const { id: accountId, model } = subject;
    const amount = type === 'adjustment' ? -this.#random.integer(1, 40) : this.#random.integer(5, 60);
    // The number of references is small, so that some references are used twice.
    const reference = `r${this.#random.integer(1, 500)}`;
    return async () => {
      const known = await this.#store.grants.findOne({ _id: `${accountId}:${type}:${reference}` });
      const answer = await retryUntilDone(() =>
        this.#accounts.grant({ accountId, type, amount, reference, reason: null }),
      );
      const applied = await this.#store.grants.findOne({ _id: `${accountId}:${type}:${reference}` });
      return () => {
        if (known !== null) return;
        const taken = alone || applied === null ? undefined : -applied.applied;
        const shortfall = model.grant(type, amount, reference, taken);
        if (alone) this.#mismatch('shortfall', shortfall, answer.shortfall);
      };
    };
  }

  /**
   * Chooses a random operation on the account. `alone` means that no other operation runs at the same time, so that the
   * model can predict its result.
   */
  async #any(subject: Subject, alone: boolean): Promise<Operation> {
    const known = subject.calls.length === 0 ? undefined : this.#random.pick(subject.calls);
    const kind = this.#random.integer(1, 100);
    if (known === undefined || kind <= 35) return this.#reserve(subject, await this.#accept(subject), alone);
    if (kind <= 43) return this.#reserve(subject, known, alone);
    if (kind <= 75 && known.nonce !== null) return this.#settle(subject, known, 'charged', alone);
    if (kind <= 88) return this.#settle(subject, known, 'refunded', alone);
    if (kind <= 92) return this.#grant(subject, 'adjustment', alone);
    return this.#grant(subject, kind <= 96 ? 'purchase' : 'allowance', alone);
  }

  /** Runs one operation and compares the ledger with the model. @returns the number of operations */
  async alone(subject: Subject): Promise<number> {
    const operation = await this.#any(subject, true);
    const check = await operation();
    check();
    await this.#compare(subject);
    return 1;
  }

  /**
   * Runs several operations on one account concurrently, including repeated and conflicting operations on the same
   * call.
   *
   * @returns the number of operations
   */
  async together(subject: Subject, count: number): Promise<number> {
    const batch: Operation[] = [];
    const busy = new Set<Call>();
    let adjusted = false;
    for (let i = 0; i < count; i++) {
      const free = subject.calls.filter((call) => !busy.has(call));
      const known = free.length === 0 ? undefined : this.#random.pick(free);
      const kind = this.#random.integer(1, 100);
      if (known === undefined || kind <= 40) {
        const call = await this.#accept(subject);
        busy.add(call);
        // Two concurrent attempts of the same reservation must lead to one hold.
        batch.push(this.#reserve(subject, call, false), this.#reserve(subject, call, false));
      } else if (kind <= 90) {
        busy.add(known);
        if (known.nonce !== null) batch.push(this.#settle(subject, known, 'charged', false));
        batch.push(this.#settle(subject, known, 'refunded', false));
      } else if (!adjusted) {
        adjusted = true;
        batch.push(this.#grant(subject, kind <= 95 ? 'adjustment' : 'purchase', false));
      }
    }
    const checks = await Promise.all(batch.map((operation) => operation()));
    await this.#applyInOrder(subject, checks);
    await this.#compare(subject);
    return batch.length;
  }

  /**
   * Applies the results to the model, and then sorts the model's entries into the order in which the database recorded
   * them.
   */
  async #applyInOrder(subject: Subject, checks: (() => void)[]): Promise<void> {
    for (const check of checks) check();
    await this.flush();
    const { lines, events } = subject.model;
    const entries = await this.#store.entries.find({ accountId: subject.id }).sort({ seq: 1 }).toArray();
    const sorted = (list: { type: string; amount: number }[]) =>
      list.map(({ type, amount }) => `${type} ${amount}`).sort();
    this.#mismatch('lines, in any order', sorted(lines), sorted(entries));
    // The database chose the order of the concurrent operations, so the model's entries and the events that depend on
    // the balance are derived again from the recorded order.
    const granted = events.filter((event) => event === 'credits.granted');
    lines.splice(0);
    events.splice(0, events.length, ...granted);
    let balance = 0;
    for (const { type, amount } of entries) {
      const before = balance;
      balance += amount;
      lines.push({ type, amount, balanceAfter: balance });
      if (type !== 'charge') continue;
      if (before >= 25 && balance < 25) events.push('credits.low');
      if (before > 0 && balance === 0) events.push('credits.exhausted');
    }
  }

  async #compare({ id, model }: Subject): Promise<void> {
    const account = await this.#store.accounts.findOne({ _id: id });
    this.#mismatch('balance', model.balance, account?.balance);
    this.#mismatch('reserved', model.reserved, account?.reserved);
    this.#mismatch('shortfall', model.shortfall, account?.shortfall);
    this.#mismatch('holds', [...model.holds.keys()].sort(), Object.keys(account?.holds ?? {}).sort());
    for (const pool of POOLS)
      this.#mismatch(`running in ${pool}`, model.running(pool), account?.running[pool] ?? 0);
  }

  async compareLedger({ id, model }: Subject): Promise<void> {
    const entries = await this.#store.entries.find({ accountId: id }).sort({ seq: 1 }).toArray();
    const lines = entries.map(({ type, amount, balanceAfter }) => ({ type, amount, balanceAfter }));
    this.#mismatch('statement', model.lines, lines);
    const events = await this.#store.events.find({ accountId: id }).toArray();
    this.#mismatch('events', [...model.events].sort(), events.map(({ event }) => event).sort());
    const crossed = model.lines
      .filter(({ type }) => type === 'charge')
      .map(({ amount, balanceAfter }) => ({
        balance: balanceAfter,
        thresholds: ALERTS.filter((it) => balanceAfter < it && balanceAfter - amount >= it),
      }))
      .filter(({ thresholds }) => thresholds.length > 0);
    const notices = await this.#store.notices.find({ accountId: id, kind: 'balance' }).toArray();
    this.#mismatch(
      'alerts',
      crossed.map((it) => JSON.stringify(it)).sort(),
      notices
        .flatMap((it) =>
          it.kind === 'balance' ? [JSON.stringify({ balance: it.balance, thresholds: it.thresholds })] : [],
        )
        .sort(),
    );
    const rows = await this.#store.calls.find({ accountId: id }).toArray();
    this.#mismatch(
      'calls',
      [...model.calls].sort(),
      rows.map((row): [string, string] => [row._id, row.state]).sort(),
    );
  }

  flush(): Promise<void> {
    return retryUntilDone(() => this.#ledger.flush());
  }
}

test('after random sequential and concurrent operations with crashes, the ledger equals the model', async (t) => {
  t.timeout(OPERATIONS * 20 + 300_000);
  const seeds = seededRandom((line) => t.log(line));
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  let done = 0;
  let wrong = 0;
  const mismatch: Mismatch = (what, expected, found) => {
    if (JSON.stringify(expected) === JSON.stringify(found)) return;
    if (wrong++ < 20) t.deepEqual(found, expected, `${what}, at operation ${done}`);
  };

  const fork = () => createRandom(seeds.integer(1, 2 ** 31));
  // Errors are ignored: entries of a failed batch stay in the journal and are copied later.
  const ledgers = Array.from({ length: PROCESSES }, () =>
    createLedger(interceptStore(store, crashing(fork())), () => undefined),
  );
  const started = performance.now();
  const runWriter = async (random: Random) => {
    const writer = new Writer(store, random.pick(ledgers), random, mismatch);
    const subjects: Subject[] = [];
    for (let i = 0; i < ACCOUNTS_BY_WRITER; i++) {
      const credits = random.integer(0, 80);
      const account = await createAccounts(store).create({ email: `${randomUUID()}@example.com`, credits });
      for (const threshold of ALERTS) await createAccounts(store).addAlert(account._id, threshold);
      subjects.push({ id: account._id, model: new ModelAccount(credits), calls: [], fresh: [] });
    }
    while (done < OPERATIONS && wrong === 0) {
      const subject = random.pick(subjects);
      const count = random.integer(1, 10) <= 7 ? 1 : random.integer(2, 6);
      // `done += await …` would read the sum before the await, and lose what other accounts add in the meantime.
      const counted = await (count === 1 ? writer.alone(subject) : writer.together(subject, count));
      done += counted;
    }
    return { writer, subjects };
  };
  const ran = await Promise.all(Array.from({ length: WRITERS }, fork).map(runWriter));
  const seconds = (performance.now() - started) / 1000;
  t.log(`${done} operations in ${seconds.toFixed(1)} s: ${Math.round(done / seconds)} a second`);
  t.is(wrong, 0);
  t.deepEqual((await audit(store)).drift, [], 'audit after half of the operations, with running calls');

  const ledger = createLedger(store, (error) => t.fail(String(error)));
  for (;;) if ((await sweep(store, ledger, async () => true)).ended === 0) break;
  await ledger.flush();
  for (const { writer, subjects } of ran) {
    await writer.flush();
    for (const subject of subjects) {
      for (const [callId, state] of subject.model.calls)
        if (state === 'running') subject.model.settle(callId, 'refunded');
      await writer.compareLedger(subject);
    }
  }
  t.is(wrong, 0);
  const result = await audit(store);
  t.deepEqual(result.drift, []);
  t.is(result.accounts, ACCOUNTS_BY_WRITER * WRITERS);
  t.is(await store.accounts.countDocuments({ reserved: { $ne: 0 } }), 0);
});
