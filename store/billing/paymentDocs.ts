import type { IndexDescription } from 'mongodb';

/**
 * Stages of a dispute about a card payment, in the order in which they can follow each other. Stripe withholds the
 * money while a dispute is `open` and keeps it if the dispute is `lost`.
 */
export const DISPUTE_STAGES = ['inquiry', 'open', 'lost', 'won'] as const;

export type DisputeStage = (typeof DISPUTE_STAGES)[number];

/**
 * A payment, as known from Stripe's events, which arrive in any order. `accountId` and `paidAt` are null until an event confirms
 * that the payment succeeded.
 */
export interface PaymentDoc {
  /** Id of the payment at Stripe, or of the test checkout. */
  _id: string;
  accountId: string | null;
  credits: number;
  /** Price in hundredths of the currency unit. All amounts of this document have this unit. */
  amount: number;
  /** ISO 4217 code in upper case. */
  currency: string;
  /** Whether the payment was made in test mode, in which no money moves. */
  test: boolean;
  paidAt: Date | null;
  refunded: number;
  disputes: { id: string; amount: number; stage: DisputeStage }[];
  /** Credits that were taken back for refunds and disputes. */
  taken: number;
  /**
   * Set if the payment reached an account that was closed before, until all of its credits were taken back: an operator
   * must refund it.
   */
  refundDue?: true;
  /**
   * Numbers of the invoice of the payment and of the documents that correct it, oldest first, and the amount to which they
   * add up. Missing if the installation issued no invoices when the payment was confirmed.
   */
  invoiced?: { numbers: string[]; amount: number };
  reportedAt: Date;
  /**
   * When MongoDB deletes the document; removed once the payment is confirmed. Stripe also reports refunds of payments
   * that are not for credits.
   */
  forgetAt?: Date;
}

export const PAYMENT_INDEXES: IndexDescription[] = [
  { key: { accountId: 1, paidAt: -1, _id: -1 } },
  { key: { paidAt: -1, _id: -1 } },
  { key: { paidAt: -1 }, partialFilterExpression: { refundDue: true } },
  { key: { forgetAt: 1 }, expireAfterSeconds: 0 },
];
