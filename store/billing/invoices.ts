import type { ClientSession } from 'mongodb';
import { vatCountry } from '../../schemas/formats/vatId.ts';
import type { BillingDetails } from '../accounts/accountDocs.ts';
import type { Store } from '../mongo/mongo.ts';
import type { InvoiceDoc, Seller } from './invoiceDocs.ts';
import type { PaymentDoc } from './paymentDocs.ts';

/** The operator's settings for invoices. */
export interface InvoiceTerms {
  seller: Seller;
  taxName: string;
  /** Tax that prices contain, in hundredths of a percent. */
  taxRate: number;
  /** Text of every invoice. */
  note: string | null;
  /** Text of invoices without tax for buyers with a VAT id of another country; null: these pay the tax too. */
  reverseCharge: string | null;
}

type Collections = Pick<Store, 'invoices' | 'invoiceSeries' | 'accounts'>;

/** 100 % in hundredths of a percent. */
const WHOLE = 10_000;
const DIGITS = 6;

/**
 * The tax that a gross amount contains, in hundredths of the currency unit; half of one is rounded up. The sums are exact,
 * because amounts are at most 10^8.
 */
const taxIn = (gross: number, rate: number): number =>
  Math.floor((2 * gross * rate + WHOLE + rate) / (2 * (WHOLE + rate)));

/**
 * Takes the next number of a series. Numbers have no gaps: the increment is part of the transaction that stores the document
 * with the number, so that both are committed or neither is. A transaction that loses against another one, fails or is killed
 * leaves the series as it was. Two transactions cannot read the same number, because both write the document of the series:
 * MongoDB aborts the second one, and the driver repeats it.
 */
async function nextNumber({ invoiceSeries }: Collections, series: string, session: ClientSession) {
  const updated = await invoiceSeries.findOneAndUpdate(
    { _id: series },
    { $inc: { last: 1 } },
    { session, upsert: true, returnDocument: 'after' },
  );
  if (updated === null) throw new Error('the upsert returned no document');
  return `${series}-${String(updated.last).padStart(DIGITS, '0')}`;
}

/** Whether the buyer owes the tax: it has a VAT id of another country than the seller, and the operator has switched this on. */
function isReverseCharge(buyer: BillingDetails | null, { seller, reverseCharge }: InvoiceTerms): boolean {
  const vatId = buyer?.vatId ?? null;
  if (reverseCharge === null || vatId === null || seller.vatId === null) return false;
  return vatCountry(vatId) !== vatCountry(seller.vatId);
}

/** The content of the first invoice of a payment, apart from its number and amounts. */
async function contentOf(
  { accounts }: Collections,
  payment: PaymentDoc & { accountId: string },
  terms: InvoiceTerms,
  session: ClientSession,
) {
  const { _id: paymentId, accountId, credits, currency, test } = payment;
  const account = await accounts.findOne({ _id: accountId }, { session, projection: { billing: 1 } });
  const buyer = account?.billing ?? null;
  const reversed = isReverseCharge(buyer, terms);
  const { seller, taxName, taxRate, note, reverseCharge } = terms;
  return {
    accountId,
    paymentId,
    test,
    seller,
    buyer,
    credits,
    currency,
    taxName,
    taxRate: reversed ? 0 : taxRate,
    notes: [note, reversed ? reverseCharge : null].filter((text) => text !== null),
  };
}

/**
 * Stores a document that changes what was invoiced for a payment. Its tax is a difference of two sums, so that the documents
 * of a payment add up to the cent.
 */
async function issue(
  collections: Collections,
  content: Awaited<ReturnType<typeof contentOf>>,
  { from, to, corrects }: { from: number; to: number; corrects?: string },
  session: ClientSession,
): Promise<string> {
  const kind = to > from ? 'invoice' : 'credit_note';
  const series = `${content.test ? 'TEST-' : ''}${kind === 'invoice' ? 'INV' : 'CN'}`;
  const gross = Math.abs(to - from);
  const tax = Math.abs(taxIn(to, content.taxRate) - taxIn(from, content.taxRate));
  const document: InvoiceDoc = {
    _id: await nextNumber(collections, series, session),
    kind,
    ...content,
    issuedAt: new Date(),
    net: gross - tax,
    tax,
    gross,
    ...(corrects !== undefined && { corrects }),
  };
  await collections.invoices.insertOne(document, { session });
  return document._id;
}

/** Money that the buyer got back. Money of an open dispute is not: the dispute may be won. */
const paidBack = ({ amount, refunded, disputes }: PaymentDoc): number =>
  Math.min(
    amount,
    disputes.filter(({ stage }) => stage === 'lost').reduce((sum, dispute) => sum + dispute.amount, refunded),
  );

/**
 * Issues the documents that a change of a payment needs: the invoice when it is paid, a credit note for what is paid back, and
 * another invoice if a lost dispute is won in the end. Called in the transaction that changes the payment, which stores the
 * result with it, so each document is issued exactly once, however often and in which order the payment is reported.
 *
 * @param isNew whether the payment has just been confirmed. Payments that got no invoice then never do
 * @param terms null: the installation issues no invoices
 * @returns the new value of `PaymentDoc.invoiced`
 */
export async function issueInvoices(
  collections: Collections,
  payment: PaymentDoc,
  { isNew, terms }: { isNew: boolean; terms: InvoiceTerms | null },
  session: ClientSession,
): Promise<PaymentDoc['invoiced']> {
  const { accountId, amount } = payment;
  let { invoiced } = payment;
  if (accountId !== null && isNew && terms !== null) {
    const content = await contentOf(collections, { ...payment, accountId }, terms, session);
    const number = await issue(collections, content, { from: 0, to: amount }, session);
    invoiced = { numbers: [number], amount };
  }
  const [first] = invoiced?.numbers ?? [];
  if (invoiced === undefined || first === undefined) return invoiced;
  const [from, to] = [invoiced.amount, amount - paidBack(payment)];
  if (from === to) return invoiced;
  const original = await collections.invoices.findOne({ _id: first }, { session });
  if (original === null) throw new Error(`the invoice ${first} is missing`);
  const { _id, kind, issuedAt, net, tax, gross, ...content } = original;
  const number = await issue(collections, content, { from, to, corrects: first }, session);
  return { numbers: [...invoiced.numbers, number], amount: to };
}

/** Reads invoices and credit notes. */
export interface Invoices {
  /** Returns a document of the account; null if there is none with this number. */
  find(accountId: string, number: string): Promise<InvoiceDoc | null>;
  /** For operators: returns a document of any account; null if there is none with this number. */
  findAny(number: string): Promise<InvoiceDoc | null>;
}

export const createInvoices = ({ invoices }: Pick<Store, 'invoices'>): Invoices => ({
  find: (accountId, number) => invoices.findOne({ _id: number, accountId }),
  findAny: (number) => invoices.findOne({ _id: number }),
});
