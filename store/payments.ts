import type { Accounts } from './accounts.ts';
import { DISPUTE_STAGES, type PaymentDoc, type Store } from './mongo.ts';

/** What is told of a payment: once, repeatedly, or before what happened earlier. */
export interface Report {
  paymentId: string;
  /** Id of what told it; stands with the credits that were taken or given back because of it. */
  source: string;
  /** ISO 4217, in capitals. */
  currency: string;
  fact:
    | { kind: 'paid'; accountId: string; credits: number; amount: number; test: boolean }
    /** All refunds so far together. */
    | { kind: 'refunded'; amount: number }
    | { kind: 'disputed'; dispute: PaymentDoc['disputes'][number] };
}

/** The account whose credits changed, or null. `mismatch`: it is not what was told of this payment before. */
export type Recorded = { status: 'recorded'; accountId: string | null } | { status: 'mismatch' };

export interface Payments {
  /** @throws ServiceError not_found: paid for an account that is not there */
  record(report: Report): Promise<Recorded>;
  /** An account's purchases, newest first, at most so many. */
  list(accountId: string, limit: number): Promise<PaymentDoc[]>;
}

/** Far longer than Stripe goes on telling us. */
const FORGET_AFTER_MS = 90 * 86_400_000;

/** A refund of half the money takes half the credits, rounded in the owner's favour. */
export function creditsToTake({ credits, amount, refunded, disputes }: PaymentDoc): number {
  const withheld = disputes.filter(({ stage }) => stage === 'open' || stage === 'lost');
  const lost = withheld.reduce((total, dispute) => total + dispute.amount, refunded);
  // Both may be so large that their product is no safe integer.
  return Number((BigInt(credits) * BigInt(Math.min(lost, amount))) / BigInt(amount));
}

const isLater = (a: PaymentDoc['disputes'][number], b: PaymentDoc['disputes'][number]): boolean =>
  DISPUTE_STAGES.indexOf(a.stage) > DISPUTE_STAGES.indexOf(b.stage);

/** The payment with one more fact; the order in which facts come makes no difference. Null: the fact is of another payment. */
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
 * Payments, and the credits that follow from them. Each report changes its payment and the account in one transaction,
 * so that it can be repeated at any time: what is known already changes nothing.
 */
export function createPayments(store: Store, accounts: Accounts): Payments {
  const { payments } = store;
  return {
    record: (report) =>
      store.transaction(async (session) => {
        const { paymentId, source, currency } = report;
        const now = new Date();
        const forgetAt = new Date(now.getTime() + FORGET_AFTER_MS);
        const blank = { accountId: null, credits: 0, amount: 0, test: false, paidAt: null, refunded: 0 };
        // Writing comes before looking: of two reports at once, one waits or is begun anew.
        const before = await payments.findOneAndUpdate(
          { _id: paymentId },
          {
            $set: { reportedAt: now },
            $setOnInsert: { ...blank, currency, disputes: [], taken: 0, forgetAt },
          },
          { session, upsert: true, returnDocument: 'after' },
        );
        if (before === null) throw new Error('an upsert answered no document');
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
