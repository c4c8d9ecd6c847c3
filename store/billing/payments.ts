import type { ClientSession } from 'mongodb';
import type { Accounts } from '../accounts/accounts.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import { type InvoiceTerms, issueInvoices } from './invoices.ts';
import { DISPUTE_STAGES, type PaymentDoc } from './paymentDocs.ts';

/** A Stripe event about a payment. Events may repeat and arrive out of order. */
export interface Report {
  paymentId: string;
  /** Id of the Stripe event. It is the reference of the adjustment that takes credits back or returns them. */
  source: string;
  /** ISO 4217 code in upper case. */
  currency: string;
  fact:
    | { kind: 'paid'; accountId: string; credits: number; amount: number; test: boolean }
    /** `amount` is the total of all refunds so far. */
    | { kind: 'refunded'; amount: number }
    | { kind: 'disputed'; dispute: PaymentDoc['disputes'][number] };
}

/**
 * `accountId`: the account whose credits changed; null if none changed. `refundDue`: the payment reached a closed account, as
 * this report is the first to say. `mismatch`: the report contradicts earlier reports of the same payment.
 */
type Recorded = { status: 'recorded'; accountId: string | null; refundDue?: true } | { status: 'mismatch' };

export interface Payments {
  /**
   * Applies a report; no-op if it was applied before. A payment to a closed account is booked like any other, so that the
   * ledger shows it, and marked `refundDue`. @throws ServiceError not_found if the account does not exist
   */
  record(report: Report): Promise<Recorded>;
  /** Returns an account's purchases, newest first. */
  list(accountId: string, page: PageRequest): Promise<Page<Purchase>>;
  /** Returns the purchases that operators must refund, newest first, at most `limit`. */
  listDue(limit: number): Promise<Purchase[]>;
  /** Returns a purchase of the account; null if there is none with this id. */
  find(accountId: string, paymentId: string): Promise<Purchase | null>;
  /** For operators: returns a purchase of any account; null if there is none with this id. */
  findAny(paymentId: string): Promise<Purchase | null>;
}

/** A payment that an event has confirmed. */
export interface Purchase extends PaymentDoc {
  accountId: string;
  paidAt: Date;
}

/** How long an unconfirmed payment is kept. Stripe retries events for a much shorter time. */
const RETENTION_MS = 90 * 86_400_000;

/**
 * Returns the credits to take back for refunds and disputes: the same share as that of the money, rounded down in the
 * owner's favour.
 */
function creditsToTake({ credits, amount, refunded, disputes }: PaymentDoc): number {
  const withheld = disputes.filter(({ stage }) => stage === 'open' || stage === 'lost');
  const lost = withheld.reduce((total, dispute) => total + dispute.amount, refunded);
  // BigInt, because the product may exceed `Number.MAX_SAFE_INTEGER`.
  return Number((BigInt(credits) * BigInt(Math.min(lost, amount))) / BigInt(amount));
}

const isLater = (a: PaymentDoc['disputes'][number], b: PaymentDoc['disputes'][number]): boolean =>
  DISPUTE_STAGES.indexOf(a.stage) > DISPUTE_STAGES.indexOf(b.stage);

/**
 * Adds a reported fact to a payment; the order of facts does not matter. Returns null if the fact contradicts the
 * payment.
 */
function withFact(payment: PaymentDoc, { currency, fact }: Report): PaymentDoc | null {
  if (payment.currency !== currency) return null;
  switch (fact.kind) {
    case 'refunded':
      return { ...payment, refunded: Math.max(payment.refunded, fact.amount) };
    case 'disputed': {
      const { dispute } = fact;
      const known = payment.disputes.find(({ id }) => id === dispute.id);
      if (known !== undefined && !isLater(dispute, known)) return payment;
      return { ...payment, disputes: [...payment.disputes.filter((it) => it !== known), dispute] };
    }
    case 'paid': {
      const { forgetAt: _kept, ...rest } = payment;
      const { accountId, credits, amount, test } = fact;
      if (payment.paidAt === null) return { ...rest, accountId, credits, amount, test, paidAt: new Date() };
      const same =
        payment.accountId === accountId && payment.credits === credits && payment.amount === amount;
      return same ? payment : null;
    }
  }
}

/**
 * Creates the record of payments. Each report updates its payment, the account's credits and the invoices of the payment in one
 * transaction, so it can be repeated at any time.
 *
 * @param terms null: no invoices are issued
 */
export function createPayments(
  store: Store,
  accounts: Accounts,
  terms: InvoiceTerms | null = null,
): Payments {
  const { payments } = store;

  async function isClosed(accountId: string, session: ClientSession): Promise<boolean> {
    const found = await store.accounts.countDocuments(
      { _id: accountId, closedAt: { $exists: true } },
      { session },
    );
    return found > 0;
  }

  return {
    record: (report) =>
      store.transaction(async (session) => {
        const { paymentId, source, currency } = report;
        const now = new Date();
        const forgetAt = new Date(now.getTime() + RETENTION_MS);
        const blank = { accountId: null, credits: 0, amount: 0, test: false, paidAt: null, refunded: 0 };
        // The first operation of the transaction is a write, so that of concurrent reports on one payment all but one
        // wait or are restarted.
        const before = await payments.findOneAndUpdate(
          { _id: paymentId },
          {
            $set: { reportedAt: now },
            $setOnInsert: { ...blank, currency, disputes: [], taken: 0, forgetAt },
          },
          { session, upsert: true, returnDocument: 'after' },
        );
        if (before === null) throw new Error('the upsert returned no document');
        const after = withFact(before, report);
        if (after === null) return { status: 'mismatch' };
        const { refundDue: wasDue = false, ...payment } = after;
        const { accountId } = payment;
        const taken = accountId === null ? 0 : creditsToTake(after);
        if (accountId !== null && before.paidAt === null)
          await accounts.grantWithin(session, {
            accountId,
            type: 'purchase',
            amount: after.credits,
            reference: paymentId,
            reason: null,
          });
        if (accountId !== null && taken !== before.taken)
          await accounts.grantWithin(session, {
            accountId,
            type: 'adjustment',
            amount: before.taken - taken,
            reference: source,
            reason: `${report.fact.kind}: payment ${paymentId}`,
          });
        // Read after the grant has written to the account, so that the account cannot be closed in between.
        const isLate = accountId !== null && before.paidAt === null && (await isClosed(accountId, session));
        const isDue = (wasDue || isLate) && taken < payment.credits;
        // Late in the transaction, because concurrent payments conflict on the number of the invoice.
        const isNew = before.paidAt === null && accountId !== null;
        const invoiced = await issueInvoices(store, payment, { isNew, terms }, session);
        await payments.replaceOne(
          { _id: paymentId },
          {
            ...payment,
            taken,
            ...(isDue && { refundDue: true }),
            ...(invoiced !== undefined && { invoiced }),
          },
          { session },
        );
        const changed = before.paidAt !== after.paidAt || before.taken !== taken;
        return {
          status: 'recorded',
          accountId: changed ? accountId : null,
          ...(isDue && !wasDue && { refundDue: true }),
        };
      }),

    listDue: (limit) =>
      payments.find<Purchase>({ refundDue: true }).sort({ paidAt: -1 }).limit(limit).toArray(),

    find: (accountId, paymentId) => payments.findOne<Purchase>({ _id: paymentId, accountId }),

    findAny: (paymentId) => payments.findOne<Purchase>({ _id: paymentId, accountId: { $ne: null } }),

    list: (accountId, page) =>
      pageByTime(
        'payments',
        (condition) => payments.find<Purchase>({ accountId, ...condition }),
        'paidAt',
        page,
      ),
  };
}
