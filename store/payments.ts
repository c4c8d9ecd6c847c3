import type { Accounts } from './accounts.ts';
import { DISPUTE_STAGES, type PaymentDoc, type Store } from './mongo.ts';

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
 * `accountId`: the account whose credits changed; null if none changed. `mismatch`: the report contradicts earlier
 * reports of the same payment.
 */
export type Recorded = { status: 'recorded'; accountId: string | null } | { status: 'mismatch' };

export interface Payments {
  /**
   * Applies a report; no-op if it was applied before. @throws ServiceError not_found if the account does not exist
   */
  record(report: Report): Promise<Recorded>;
  /** Returns an account's purchases, newest first, at most `limit`. */
  list(accountId: string, limit: number): Promise<PaymentDoc[]>;
}

/** How long an unconfirmed payment is kept. Stripe retries events for a much shorter time. */
const RETENTION_MS = 90 * 86_400_000;

/**
 * Returns the credits to take back for refunds and disputes: the same share as that of the money, rounded down in the
 * owner's favour.
 */
export function creditsToTake({ credits, amount, refunded, disputes }: PaymentDoc): number {
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
 * Creates the record of payments. Each report updates its payment and the account's credits in one transaction, so it
 * can be repeated at any time.
 */
export function createPayments(store: Store, accounts: Accounts): Payments {
  const { payments } = store;
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
        const { accountId } = after;
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
        await payments.replaceOne({ _id: paymentId }, { ...after, taken }, { session });
        const changed = before.paidAt !== after.paidAt || before.taken !== taken;
        return { status: 'recorded', accountId: changed ? accountId : null };
      }),

    list: (accountId, limit) => payments.find({ accountId }).sort({ paidAt: -1 }).limit(limit).toArray(),
  };
}
