import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { BillingDetails } from '../../store/accounts/accountDocs.ts';
import { type Accounts, createAccounts } from '../../store/accounts/accounts.ts';
import { closeAccount } from '../../store/accounts/closeAccount.ts';
import { OPERATOR } from '../../store/accounts/securityLog.ts';
import type { InvoiceTerms } from '../../store/billing/invoices.ts';
import { createPayments, type Report } from '../../store/billing/payments.ts';
import { audit } from '../../store/ledger/audit.ts';
import { ensureIndexes } from '../../store/mongo/indexes.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { seededRandom } from '../helpers/random.ts';
import { startDatabase } from '../helpers/stack.ts';
import { crashing, retryUntilDone } from './crashes.ts';
import { interceptStore } from './intercept.ts';

let store: Store;
let accounts: Accounts;
let database: Awaited<ReturnType<typeof startDatabase>>;

test.before(async () => {
  database = await startDatabase();
  store = await openStore(database.mongodbUri);
  await ensureIndexes(store);
  accounts = createAccounts(store);
});
test.after.always(async () => {
  await store?.close();
  await database?.stop();
});

const TERMS: InvoiceTerms = {
  seller: {
    name: 'Example Tools Ltd',
    address: '1 Example Street, Berlin',
    email: 'a@b.example',
    vatId: 'DE123456789',
  },
  taxName: 'VAT',
  taxRate: 1900,
  note: 'HRB 1',
  reverseCharge: null,
};
const BUYER: BillingDetails = { name: 'Buyer GmbH', address: '2 Road, Wien', country: 'AT', vatId: null };
const [CREDITS, PRICE] = [1000, 900];

const newAccount = async (): Promise<string> =>
  (await accounts.create({ email: `${randomUUID()}@example.com`, credits: 0 }))._id;

type Fact = Report['fact'];
const paid = (accountId: string, amount = PRICE, isTest = false): Fact => ({
  kind: 'paid',
  accountId,
  credits: CREDITS,
  amount,
  test: isTest,
});
const refunded = (amount: number): Fact => ({ kind: 'refunded', amount });
const disputed = (stage: 'open' | 'lost' | 'won', amount = PRICE): Fact => ({
  kind: 'disputed',
  dispute: { id: 'du_1', amount, stage },
});

/** Records facts about a payment one after the other. Returns its documents in the order in which they were issued. */
async function documentsOf(
  facts: readonly Fact[],
  terms: InvoiceTerms | null = TERMS,
  paymentId = newPayment(),
) {
  for (const fact of facts)
    await createPayments(store, accounts, terms).record({
      paymentId,
      source: `evt_${randomUUID()}`,
      currency: 'EUR',
      fact,
    });
  const documents = await store.invoices.find({ paymentId }).toArray();
  const payment = await store.payments.findOne({ _id: paymentId });
  return (payment?.invoiced?.numbers ?? []).map(
    (number) => documents.find(({ _id }) => _id === number) ?? number,
  );
}

const newPayment = () => `pi_${randomUUID()}`;

/** The sequence number of a document. */
const sequenceOf = (number: string): number => Number(number.split('-').at(-1));

test.serial(
  '50 concurrent purchases, reported again and again and interrupted at any step, have the numbers 1 to 50',
  async (t) => {
    const random = seededRandom((line) => t.log(line));
    const buyers = await Promise.all(Array.from({ length: 5 }, newAccount));
    const crashes = interceptStore(store, crashing(random));
    const payments = createPayments(crashes, createAccounts(crashes), TERMS);
    const reports = Array.from({ length: 50 }, (_, index) => {
      const paymentId = newPayment();
      const fact = paid(buyers[index % buyers.length] ?? '');
      return Array.from({ length: 1 + (index % 3) }, () => ({
        paymentId,
        source: `evt_${randomUUID()}`,
        currency: 'EUR',
        fact,
      }));
    }).flat();
    await Promise.all(reports.map((report) => retryUntilDone(() => payments.record(report))));

    const invoices = await store.invoices.find({ accountId: { $in: buyers } }).toArray();
    t.deepEqual(
      invoices.map(({ _id }) => _id).sort(),
      Array.from({ length: 50 }, (_, index) => `INV-${String(index + 1).padStart(6, '0')}`),
    );
    t.is(new Set(invoices.map(({ paymentId }) => paymentId)).size, 50);
    t.deepEqual(
      await Promise.all(buyers.map(async (id) => (await accounts.find(id))?.balance)),
      buyers.map(() => 10 * CREDITS),
    );
    t.deepEqual((await audit(store)).drift, []);
  },
);

test.serial('an invoice keeps the details of its day', async (t) => {
  const accountId = await newAccount();
  const [before] = await documentsOf([paid(accountId)]);
  t.like(before, { buyer: null, accountId, seller: TERMS.seller, notes: ['HRB 1'] });
  await accounts.setBilling(accountId, BUYER);
  const paymentId = newPayment();
  const [invoice] = await documentsOf([paid(accountId)], TERMS, paymentId);
  t.like(invoice, { kind: 'invoice', buyer: BUYER, net: 756, tax: 144, gross: 900, currency: 'EUR' });
  await accounts.setBilling(accountId, { ...BUYER, name: 'Other' });
  const moved = { ...TERMS, seller: { ...TERMS.seller, name: 'New Ltd' }, taxRate: 2000 };
  t.deepEqual((await documentsOf([refunded(300)], moved, paymentId))[0], invoice);
  const [, note] = await documentsOf([], moved, paymentId);
  t.like(note, { kind: 'credit_note', buyer: BUYER, seller: TERMS.seller, taxRate: 1900, gross: 300 });

  const email = (await accounts.find(accountId))?.email ?? '';
  await closeAccount(store, { accountId, email, actor: OPERATOR });
  t.is((await accounts.find(accountId))?.billing, undefined);
  t.deepEqual((await documentsOf([], moved, paymentId))[0], invoice);
});

test.serial('the documents of a payment add up, in any order of its reports', async (t) => {
  const shapeOf = (documents: Awaited<ReturnType<typeof documentsOf>>) =>
    documents.map((it) => (typeof it === 'string' ? it : `${it.kind} ${it.net}+${it.tax}=${it.gross}`));
  const invoice = 'invoice 756+144=900';
  for (const [facts, expected] of [
    // 300 / 1.19 = 252.10, 600 / 1.19 = 504.20 (computed with bc); the rest of the tax is in the second note.
    [
      [refunded(300), refunded(900)],
      ['credit_note 252+48=300', 'credit_note 504+96=600'],
    ],
    [[refunded(300), refunded(300)], ['credit_note 252+48=300']],
    [[disputed('open')], []],
    [[disputed('open'), disputed('won')], []],
    [[disputed('open'), disputed('lost')], ['credit_note 756+144=900']],
    [
      [disputed('lost'), disputed('won')],
      ['credit_note 756+144=900', 'invoice 756+144=900'],
    ],
    [
      [refunded(300), disputed('lost', 600)],
      ['credit_note 252+48=300', 'credit_note 504+96=600'],
    ],
  ] as const) {
    const found = await documentsOf([paid(await newAccount()), ...facts, ...facts.slice(-1)]);
    t.deepEqual(shapeOf(found), [invoice, ...expected], JSON.stringify(facts));
    const [first] = found;
    for (const later of found.slice(1))
      t.like(later, { corrects: typeof first === 'object' ? first._id : '' });
  }
  const late = await documentsOf([refunded(300), paid(await newAccount())]);
  t.deepEqual(shapeOf(late), [invoice, 'credit_note 252+48=300']);
});

test.serial('each series has its own numbers without gaps', async (t) => {
  const accountId = await newAccount();
  await documentsOf([paid(accountId, PRICE, true), refunded(PRICE)]);
  await documentsOf([paid(accountId, PRICE, true)]);
  const all = await store.invoices.find().toArray();
  const series = Map.groupBy(all, ({ _id }) => _id.replace(/-\d+$/, ''));
  t.deepEqual([...series.keys()].sort(), ['CN', 'INV', 'TEST-CN', 'TEST-INV']);
  for (const [name, documents] of series)
    t.deepEqual(
      documents.map(({ _id }) => sequenceOf(_id)).sort((a, b) => a - b),
      documents.map((_, index) => index + 1),
      name,
    );
  t.true(all.every((it) => it.test === it._id.startsWith('TEST-')));
});

test.serial(
  'the tax follows the rate, and the reverse charge only where the operator has switched it on',
  async (t) => {
    const reverseCharge = 'Reverse charge';
    for (const [vatId, terms, amount, tax, notes] of [
      [null, { taxRate: 2000 }, 3900, 650, ['HRB 1']],
      // 169 * 8.1 / 108.1 = 12.6633 (computed with bc).
      [null, { taxRate: 810, note: null }, 16_900, 1266, []],
      [null, { taxRate: 0 }, 900, 0, ['HRB 1']],
      // Half of a cent is rounded up: 0.06 * 20 / 120 = 0.01, 0.03 * 20 / 120 = 0.005.
      [null, { taxRate: 2000 }, 3, 1, ['HRB 1']],
      ['ATU12345678', {}, 900, 144, ['HRB 1']],
      ['ATU12345678', { reverseCharge }, 900, 0, ['HRB 1', reverseCharge]],
      ['DE999999999', { reverseCharge }, 900, 144, ['HRB 1']],
      [null, { reverseCharge }, 900, 144, ['HRB 1']],
      ['ATU12345678', { reverseCharge, seller: { ...TERMS.seller, vatId: null } }, 900, 144, ['HRB 1']],
    ] as const) {
      const accountId = await newAccount();
      await accounts.setBilling(accountId, { ...BUYER, vatId });
      const [invoice] = await documentsOf([paid(accountId, amount)], { ...TERMS, ...terms });
      t.like(invoice, { gross: amount, tax, net: amount - tax, notes: [...notes] }, JSON.stringify(terms));
    }
  },
);

test.serial(
  'an installation without details of the operator issues nothing, also not later for a refund',
  async (t) => {
    const paymentId = newPayment();
    const count = await store.invoices.countDocuments();
    t.deepEqual(await documentsOf([paid(await newAccount())], null, paymentId), []);
    t.deepEqual(await documentsOf([refunded(300)], TERMS, paymentId), []);
    t.is(await store.invoices.countDocuments(), count);
  },
);
