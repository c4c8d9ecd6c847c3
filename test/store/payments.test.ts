import { randomUUID } from 'node:crypto';
import test from 'ava';
import { type Accounts, createAccounts } from '../../store/accounts/accounts.ts';
import { closeAccount } from '../../store/accounts/closeAccount.ts';
import { OPERATOR } from '../../store/accounts/securityLog.ts';
import { createPayments, type Payments, type Report } from '../../store/billing/payments.ts';
import { audit } from '../../store/ledger/audit.ts';
import { ensureIndexes } from '../../store/mongo/indexes.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { findWaiting } from '../../store/status/waiting.ts';
import { startDatabase } from '../helpers/stack.ts';

let store: Store;
let accounts: Accounts;
let payments: Payments;
let database: Awaited<ReturnType<typeof startDatabase>>;

test.before(async () => {
  database = await startDatabase();
  store = await openStore(database.mongodbUri);
  await ensureIndexes(store);
  accounts = createAccounts(store);
  payments = createPayments(store, accounts);
});
test.after.always(async () => {
  await store?.close();
  await database?.stop();
});

const newAccount = async (credits = 0): Promise<string> =>
  (await accounts.create({ email: `${randomUUID()}@example.com`, credits }))._id;

type Fact = Report['fact'];
const PRICE = 900;
const CREDITS = 1000;
const paid = (accountId: string): Fact => ({
  kind: 'paid',
  accountId,
  credits: CREDITS,
  amount: PRICE,
  test: true,
});
const refunded = (amount: number): Fact => ({ kind: 'refunded', amount });
const disputed = (stage: 'inquiry' | 'open' | 'lost' | 'won', amount = PRICE, id = 'du_1'): Fact => ({
  kind: 'disputed',
  dispute: { id, amount, stage },
});

/** Records facts about one payment, each as a separate Stripe event. */
const report = (paymentId: string, fact: Fact, source = `evt_${randomUUID()}`, currency = 'USD') =>
  payments.record({ paymentId, source, currency, fact });

async function stateOf(accountId: string) {
  const account = await accounts.find(accountId);
  return account === null ? null : { balance: account.balance, shortfall: account.shortfall };
}

const granted = (accountId: string) => store.events.countDocuments({ accountId, event: 'credits.granted' });

test.serial(
  'a payment that is reported twenty times concurrently causes one purchase and one event',
  async (t) => {
    const accountId = await newAccount();
    const paymentId = `pi_${randomUUID()}`;
    const reported = await Promise.all(Array.from({ length: 20 }, () => report(paymentId, paid(accountId))));
    t.is(reported.filter((it) => it.status === 'recorded' && it.accountId === accountId).length, 1);
    t.deepEqual(await stateOf(accountId), { balance: CREDITS, shortfall: 0 });
    t.is(await granted(accountId), 1);
    const [line] = await store.entries.find({ accountId }).toArray();
    t.like(line, { type: 'purchase', amount: CREDITS, source: 'purchase', reference: paymentId });
  },
);

/**
 * Facts that Stripe reports about a payment, and the credits of the payment that must remain in any order of the facts.
 */
const SEQUENCES: Record<string, { facts: Fact[]; left: number }> = {
  'two partial refunds': { facts: [refunded(300), refunded(450)], left: 500 },
  'a full refund': { facts: [refunded(1), refunded(PRICE)], left: 0 },
  'an open dispute': { facts: [disputed('inquiry'), disputed('open')], left: 0 },
  'a lost dispute': { facts: [disputed('open'), disputed('lost')], left: 0 },
  'a won dispute': { facts: [disputed('open'), disputed('won')], left: CREDITS },
  'an inquiry': { facts: [disputed('inquiry')], left: CREDITS },
  'a partial refund, and a dispute about the rest': {
    facts: [refunded(300), disputed('open', 600)],
    left: 0,
  },
  'a refund above the paid amount': { facts: [refunded(2 * PRICE)], left: 0 },
  'two disputes of a third each, one of them won': {
    facts: [disputed('open', 300, 'du_1'), disputed('open', 300, 'du_2'), disputed('won', 300, 'du_2')],
    left: 667,
  },
};

/** Returns all permutations of the items. */
const orders = <T>(items: readonly T[]): T[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((item, i) => orders(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));

for (const [name, { facts, left }] of Object.entries(SEQUENCES)) {
  test.serial(`${name}: the same credits remain in any order of the reports`, async (t) => {
    for (const order of orders([null, ...facts])) {
      const accountId = await newAccount();
      const paymentId = `pi_${randomUUID()}`;
      const events = order.map((fact) => ({
        fact: fact ?? paid(accountId),
        source: `evt_${randomUUID()}`,
      }));
      // The first report is repeated at the end, as Stripe may do.
      for (const { fact, source } of [...events, ...events.slice(0, 1)])
        await report(paymentId, fact, source);
      t.deepEqual(await stateOf(accountId), { balance: left, shortfall: 0 }, JSON.stringify(order));
    }
  });

  test.serial(`${name}: the same credits remain if the reports arrive concurrently`, async (t) => {
    const accountId = await newAccount();
    const paymentId = `pi_${randomUUID()}`;
    const events = [paid(accountId), ...facts].map((fact) => ({ fact, source: `evt_${randomUUID()}` }));
    await Promise.all([...events, ...events].map(({ fact, source }) => report(paymentId, fact, source)));
    t.deepEqual(await stateOf(accountId), { balance: left, shortfall: 0 });
  });
}

test.serial(
  'a refund takes the available credits; the rest is a shortfall until new credits settle it',
  async (t) => {
    const accountId = await newAccount();
    const paymentId = `pi_${randomUUID()}`;
    await report(paymentId, paid(accountId));
    await accounts.grant({ accountId, type: 'adjustment', amount: -400, reference: 'spent', reason: null });
    const before = await granted(accountId);
    await report(paymentId, refunded(PRICE));
    t.deepEqual(await stateOf(accountId), { balance: 0, shortfall: 400 });
    t.is(await granted(accountId), before);
    await report(`pi_${randomUUID()}`, paid(accountId));
    t.deepEqual(await stateOf(accountId), { balance: 600, shortfall: 0 });
  },
);

test.serial('a report that contradicts an earlier one changes nothing', async (t) => {
  const [accountId, other] = [await newAccount(), await newAccount()];
  const paymentId = `pi_${randomUUID()}`;
  await report(paymentId, paid(accountId));
  const source = () => `evt_${randomUUID()}`;
  for (const reported of [
    report(paymentId, paid(other)),
    report(paymentId, { kind: 'paid', accountId, credits: 5000, amount: PRICE, test: true }),
    report(paymentId, { kind: 'paid', accountId, credits: CREDITS, amount: 1, test: true }),
    report(paymentId, paid(accountId), source(), 'EUR'),
    report(paymentId, refunded(PRICE), source(), 'EUR'),
    report(paymentId, disputed('open'), source(), 'EUR'),
  ])
    t.deepEqual(await reported, { status: 'mismatch' });
  t.deepEqual(await stateOf(accountId), { balance: CREDITS, shortfall: 0 });
  t.deepEqual(await stateOf(other), { balance: 0, shortfall: 0 });
});

test.serial('a payment for an unknown account is refused and not stored', async (t) => {
  const paymentId = `pi_${randomUUID()}`;
  await t.throwsAsync(report(paymentId, paid('acc_none')), { code: 'not_found' });
  t.is(await store.payments.findOne({ _id: paymentId }), null);
});

test.serial('refunds of payments that are not purchases expire, and purchases do not', async (t) => {
  const [foreign, own] = [`pi_${randomUUID()}`, `pi_${randomUUID()}`];
  t.deepEqual(await report(foreign, refunded(5)), { status: 'recorded', accountId: null });
  await report(own, refunded(5));
  const accountId = await newAccount();
  await report(own, paid(accountId));
  t.true(((await store.payments.findOne({ _id: foreign }))?.forgetAt?.getTime() ?? 0) > Date.now());
  t.is((await store.payments.findOne({ _id: own }))?.forgetAt, undefined);
  const listed = await payments.list(accountId, { limit: 10 });
  t.deepEqual(
    listed.items.map(({ _id }) => _id),
    [own],
  );
});

test.serial('partial refunds of large purchases are computed exactly', async (t) => {
  const accountId = await newAccount();
  const paymentId = `pi_${randomUUID()}`;
  const [credits, amount] = [999_999_999, 99_999_999];
  await report(paymentId, { kind: 'paid', accountId, credits, amount, test: true });
  await report(paymentId, refunded(amount - 1));
  // 999999999 * 99999998 / 99999999 = 999999988.99999990… (computed with bc), rounded down.
  t.deepEqual(await stateOf(accountId), { balance: 11, shortfall: 0 });
});

test.serial(
  'a payment to an account that was closed before is booked, and due for a refund until it is refunded',
  async (t) => {
    const email = `${randomUUID()}@example.com`;
    const { _id: accountId } = await accounts.create({ email, credits: 5 });
    const [early, late, refundedFirst] = [`pi_${randomUUID()}`, `pi_${randomUUID()}`, `pi_${randomUUID()}`];
    await report(early, paid(accountId));
    await closeAccount(store, { accountId, email, actor: OPERATOR });
    const toRefund = async () => (await findWaiting(store)).paymentsToRefund;
    t.is(await toRefund(), 0);
    t.deepEqual(await report(late, paid(accountId)), { status: 'recorded', accountId, refundDue: true });
    t.deepEqual(await report(late, paid(accountId)), { status: 'recorded', accountId: null });
    await report(refundedFirst, refunded(PRICE));
    await report(refundedFirst, paid(accountId));
    t.deepEqual(await stateOf(accountId), { balance: 5 + 2 * CREDITS, shortfall: 0 });
    t.is(await toRefund(), 1);
    const due = await payments.listDue(10);
    t.deepEqual(
      due.map(({ _id }) => _id),
      [late],
    );
    await report(late, refunded(PRICE / 2));
    t.is(await toRefund(), 1, 'half of the money is still to be refunded');
    await report(late, refunded(PRICE));
    t.is(await toRefund(), 0);
    t.deepEqual(await stateOf(accountId), { balance: 5 + CREDITS, shortfall: 0 });
  },
);

test.serial('the audit finds no drift after the other tests of this file', async (t) => {
  const { accounts: count, drift } = await audit(store);
  t.true(count > 50);
  t.deepEqual(drift, []);
});
