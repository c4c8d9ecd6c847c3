import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { AccountDoc, SpendPeriod } from '../../store/accounts/accountDocs.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { sweep } from '../../store/calls/sweeper.ts';
import { audit } from '../../store/ledger/audit.ts';
import type { KeyBudget } from '../../store/ledger/keySpend.ts';
import { createLedger, type Ledger, type Reservation } from '../../store/ledger/ledger.ts';
import { createPaybacks, type Paybacks } from '../../store/ledger/paybacks.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { createRandom, type Random, seededRandom } from '../helpers/random.ts';
import { crashing, retryUntilDone } from './crashes.ts';
import { interceptStore } from './intercept.ts';
import { insertCalls, openDatabases } from './ledgerFixtures.ts';

const OPERATIONS = Number(process.env.TEST_BUDGET_OPERATIONS ?? 2_000);
const WRITERS = 24;
const OPERATIONS_BY_ACCOUNT = 150;
const ACCOUNTS_BY_WRITER = Math.ceil(OPERATIONS / OPERATIONS_BY_ACCOUNT / WRITERS);
const MAX_PRICE = 12;
const HOUR_MS = 3_600_000;
/** The clock of the test starts two days before the end of a month and of a year. */
const START = Date.UTC(2027, 11, 30, 12);
/** A call, and what the test knows about it. */
interface Call {
  reservation: Reservation & { key: KeyBudget };
  nonce: string | null;
  /** `counted`: its price counts in the budgets of its period. */
  state: 'accepted' | 'held' | 'charged' | 'free';
  period: SpendPeriod | null;
}

interface Subject {
  id: string;
  credits: number;
  keys: readonly KeyBudget[];
  calls: Call[];
  /** The time of the test's clock, and the latest that it has had. */
  now: number;
  latest: number;
}

const day = (time: number): number => Math.floor(time / 86_400_000);
const month = (time: number): string => new Date(time).toISOString().slice(0, 7);
const counts = ({ state }: Call): boolean => state === 'held' || state === 'charged';
const priceOf = ({ reservation }: Call): number => reservation.price;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** Credits of a key that count in a day or in a month, from what the test knows. */
function spent({ calls }: Subject, keyId: string, isIn: (period: SpendPeriod) => boolean): number {
  const counted = calls.filter(
    (call) => counts(call) && call.reservation.key.id === keyId && call.period !== null && isIn(call.period),
  );
  return sum(counted.map(priceOf));
}

type Mismatch = (what: string, expected: unknown, found: unknown) => void;

class Writer {
  readonly #random: Random;
  readonly #store: Store;
  readonly #ledger: Ledger;
  readonly #paybacks: Paybacks;
  readonly #mismatch: Mismatch;
  #clock = START;

  constructor(store: Store, random: Random, mismatch: Mismatch) {
    const crashes = interceptStore(store, crashing(random));
    this.#random = random;
    this.#store = store;
    this.#mismatch = mismatch;
    this.#ledger = createLedger(
      crashes,
      () => undefined,
      undefined,
      () => new Date(this.#clock),
    );
    this.#paybacks = createPaybacks({
      store: crashes,
      ledger: this.#ledger,
      accounts: createAccounts(crashes),
    });
  }

  async subject(): Promise<Subject> {
    const credits = this.#random.integer(200, 2000);
    const { _id: id } = await createAccounts(this.#store).create({
      email: `${randomUUID()}@example.com`,
      credits,
    });
    const budget = (max: number) =>
      this.#random.integer(1, 4) === 1 ? null : this.#random.integer(MAX_PRICE, max);
    const keys = Array.from({ length: 3 }, () => ({
      id: `key_${randomUUID()}`,
      dailyBudget: budget(60),
      monthlyBudget: budget(150),
    }));
    return { id, credits, keys, calls: [], now: START, latest: START };
  }

  /** Moves the clock: mostly forward, sometimes back by a few seconds, as when another server becomes the primary. */
  #move(subject: Subject): void {
    const kind = this.#random.integer(1, 20);
    if (kind === 1) subject.now += this.#random.integer(1, 40) * HOUR_MS;
    else if (kind <= 3) subject.now -= this.#random.integer(1, 30_000);
    // To within a second of midnight, so that the next steps back and forth cross it.
    else if (kind === 4)
      subject.now = (day(subject.now) + 1) * 86_400_000 + this.#random.integer(-1000, 1000);
    subject.latest = Math.max(subject.latest, subject.now);
  }

  async #accept(subject: Subject): Promise<Call> {
    const reservation = {
      callId: randomUUID(),
      accountId: subject.id,
      tool: 'hash-text',
      pool: 'cpu',
      price: this.#random.integer(1, MAX_PRICE),
      maxRunning: null,
      key: this.#random.pick(subject.keys),
    } as const;
    await insertCalls(this.#store, [reservation]);
    const call: Call = { reservation, nonce: null, state: 'accepted', period: null };
    subject.calls.push(call);
    return call;
  }

  /** Returns the expected result of a reservation, provided that no other operation on the account runs. */
  #expected(subject: Subject, account: AccountDoc, { reservation, state }: Call): string {
    const { key, price } = reservation;
    if (state === 'held') return 'held';
    if (state !== 'accepted') return 'closed';
    if (account.balance - account.reserved < price) return 'insufficient';
    const stored = account.keySpend?.[key.id];
    const today = Math.max(day(subject.now), stored === undefined ? 0 : day(stored.day.getTime()));
    const latest = stored === undefined ? subject.now : Math.max(subject.now, stored.month.getTime());
    const inDay = spent(subject, key.id, (period) => day(period.day.getTime()) === today);
    const inMonth = spent(subject, key.id, (period) => month(period.month.getTime()) === month(latest));
    return inDay + price > (key.dailyBudget ?? Number.POSITIVE_INFINITY) ||
      inMonth + price > (key.monthlyBudget ?? Number.POSITIVE_INFINITY)
      ? 'over_budget'
      : 'held';
  }

  async #reserve(subject: Subject, call: Call, alone: boolean): Promise<void> {
    const account = alone ? await this.#store.accounts.findOne({ _id: subject.id }) : null;
    const expected = account === null ? null : this.#expected(subject, account, call);
    const answer = await retryUntilDone(() => this.#ledger.reserve(call.reservation));
    if (expected !== null) this.#mismatch('reserve', expected, answer.status);
    if (answer.status === 'over_budget') {
      const { budget } = answer;
      this.#mismatch('over budget', true, budget.spent + call.reservation.price > budget.credits);
    }
    if (answer.status !== 'held' || call.state !== 'accepted') return;
    call.nonce = answer.nonce;
    call.state = 'held';
  }

  async #settle(subject: Subject, call: Call, wanted: 'charged' | 'refunded'): Promise<void> {
    const { callId } = call.reservation;
    const { state } = await retryUntilDone(() =>
      this.#ledger.settle(
        wanted === 'charged'
          ? { callId, accountId: subject.id, wanted, nonce: call.nonce ?? 'none' }
          : { callId, accountId: subject.id, wanted, code: 'target_failed', release: true },
      ),
    );
    // A charge without a hold changes nothing: the call still runs.
    if (wanted === 'charged' && call.state === 'accepted') return;
    if (call.state === 'accepted' || call.state === 'held')
      call.state = state === 'charged' ? 'charged' : 'free';
  }

  /** Returns the price of a call whose result could not be delivered. */
  async #giveBack(call: Call): Promise<void> {
    await retryUntilDone(async () => {
      const row = await this.#store.calls.findOne({ _id: call.reservation.callId });
      if (row === null) throw new Error('no such call');
      await this.#paybacks.settle(row, 'internal');
    });
    call.state = 'free';
  }

  #operation(subject: Subject, call: Call): () => Promise<void> {
    const kind = this.#random.integer(1, 100);
    if (kind <= 15) return () => this.#reserve(subject, call, false);
    if (kind <= 50 && call.nonce !== null) return () => this.#settle(subject, call, 'charged');
    if (kind <= 90 || call.state === 'accepted') return () => this.#settle(subject, call, 'refunded');
    return () => this.#giveBack(call);
  }

  /** Runs one to eight operations at once and compares the account with what the test knows. @returns their number */
  async step(subject: Subject): Promise<number> {
    this.#move(subject);
    this.#clock = subject.now;
    const count = this.#random.integer(1, 10) <= 6 ? 1 : this.#random.integer(2, 8);
    const operations: (() => Promise<void>)[] = [];
    const busy = new Set<Call>();
    for (let i = 0; i < count; i++) {
      const free = subject.calls.filter((call) => !busy.has(call));
      const known = free.length === 0 ? undefined : this.#random.pick(free.slice(-20));
      if (known === undefined || this.#random.integer(1, 100) <= 50) {
        const call = await this.#accept(subject);
        busy.add(call);
        operations.push(() => this.#reserve(subject, call, count === 1));
        // Two attempts of the same reservation at once count once.
        if (count > 1) operations.push(() => this.#reserve(subject, call, false));
      } else {
        busy.add(known);
        operations.push(this.#operation(subject, known));
        if (count > 1 && known.state === 'held')
          operations.push(() => this.#settle(subject, known, 'refunded'));
      }
    }
    await Promise.all(operations.map((operation) => operation()));
    await this.compare(subject);
    return operations.length;
  }

  /** Reads the periods of new holds, and checks them, the spend of each key, and the budgets. */
  async compare(subject: Subject): Promise<void> {
    const account = await this.#store.accounts.findOne({ _id: subject.id });
    if (account === null) throw new Error('no such account');
    const running = subject.calls.filter((call) => call.state === 'held');
    const held = running.map(({ reservation }) => reservation.callId).sort();
    this.#mismatch('holds', held, Object.keys(account.holds).sort());
    for (const call of subject.calls) {
      if (call.period !== null || !counts(call)) continue;
      const { callId } = call.reservation;
      const row = await this.#store.calls.findOne({ _id: callId });
      const entry = account.journal.find((candidate) => candidate.callId === callId);
      const period = account.holds[callId]?.period ?? entry?.period ?? row?.period;
      if (period === undefined) throw new Error('a counted call has no period');
      call.period = period;
      const at = day(period.day.getTime());
      this.#mismatch('month of the day', month(period.day.getTime()), month(period.month.getTime()));
      // If the clock went back, a reservation may count to the later day.
      this.#mismatch('day', true, at >= day(subject.now) && at <= day(subject.latest));
    }
    const charged = subject.calls.filter((call) => call.state === 'charged');
    this.#mismatch('balance', subject.credits - sum(charged.map(priceOf)), account.balance);
    for (const key of subject.keys) {
      const stored = account.keySpend?.[key.id];
      if (stored === undefined) continue;
      const inDay = spent(subject, key.id, (period) => period.day.getTime() === stored.day.getTime());
      const inMonth = spent(subject, key.id, (period) => period.month.getTime() === stored.month.getTime());
      this.#mismatch('spend in the day', inDay, stored.inDay);
      this.#mismatch('spend in the month', inMonth, stored.inMonth);
    }
    this.#checkBudgets(subject);
  }

  /** Checks that no key is above its budget in any day or month, from what the test knows about the calls. */
  #checkBudgets(subject: Subject): void {
    const totals = new Map<string, number>();
    for (const call of subject.calls) {
      if (!counts(call) || call.period === null) continue;
      const { key, price } = call.reservation;
      const add = (name: string, budget: number | null) => {
        const total = (totals.get(name) ?? 0) + price;
        totals.set(name, total);
        this.#mismatch(`${name} within its budget`, true, total <= (budget ?? Number.POSITIVE_INFINITY));
      };
      add(`${key.id} on day ${call.period.day.toISOString()}`, key.dailyBudget);
      add(`${key.id} in month ${call.period.month.toISOString()}`, key.monthlyBudget);
    }
  }

  flush(): Promise<void> {
    return retryUntilDone(() => this.#ledger.flush());
  }
}

test('no key spends more than its budgets, and its spend is exact, after random operations with crashes and changes of the day', async (t) => {
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
  const started = performance.now();
  const runWriter = async (random: Random) => {
    const writer = new Writer(store, random, mismatch);
    const subjects: Subject[] = [];
    for (let i = 0; i < ACCOUNTS_BY_WRITER; i++) subjects.push(await writer.subject());
    while (done < OPERATIONS && wrong === 0) {
      const counted = await writer.step(random.pick(subjects));
      done += counted;
    }
    return { writer, subjects };
  };
  const ran = await Promise.all(
    Array.from({ length: WRITERS }, () => createRandom(seeds.integer(1, 2 ** 31))).map(runWriter),
  );
  const seconds = (performance.now() - started) / 1000;
  const calls = ran.flatMap(({ subjects }) => subjects.flatMap((subject) => subject.calls));
  const held = calls.filter(({ nonce }) => nonce !== null).length;
  t.log(`${done} operations in ${seconds.toFixed(1)} s; ${held} of ${calls.length} calls were held`);
  t.is(wrong, 0);
  t.deepEqual((await audit(store)).drift, [], 'audit with running calls');

  // The sweeper refunds the calls that still run, which gives back their budgets.
  const ledger = createLedger(store, (error) => t.fail(String(error)));
  for (;;) if ((await sweep(store, ledger, async () => true)).ended === 0) break;
  await ledger.flush();
  for (const { writer, subjects } of ran) {
    await writer.flush();
    for (const subject of subjects) {
      for (const call of subject.calls) if (call.state !== 'charged') call.state = 'free';
      await writer.compare(subject);
    }
  }
  t.is(wrong, 0);
  t.deepEqual((await audit(store)).drift, []);
});
