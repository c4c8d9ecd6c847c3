import type { IndexDescription } from 'mongodb';
import type { Pack } from '../../schemas/formats/packs.ts';

/** A means of payment that is saved at Stripe. */
export interface SavedCard {
  customerId: string;
  paymentMethodId: string;
}

/**
 * Why a top-up failed or was not made. `declined`: by the bank. `authentication`: the bank asks the owner to confirm. `refused`: by
 * Stripe, for example because the card was removed there. `unreachable`: Stripe did not answer for a day. `limit`: the ceiling of
 * the month. `pack`: the pack is no longer on sale at the price to which the owner agreed. `card`: no card is saved.
 */
export type TopUpFailure =
  | 'declined'
  | 'authentication'
  | 'refused'
  | 'unreachable'
  | 'limit'
  | 'pack'
  | 'card';

/** The automatic top-ups of an account; the document's id is the id of the account. */
export interface AutoTopUpDoc {
  _id: string;
  /** `pending`: the owner has agreed, and is to enter a card at Stripe. */
  state: 'pending' | 'on' | 'off';
  /** Identifies the form by which the owner agreed. A card that was entered for an earlier form switches nothing on. */
  reference: string;
  /** Credits. A charge that takes the balance from this number or more to below it causes one top-up. */
  below: number;
  /** The pack, with the price to which the owner agreed. */
  pack: Pack;
  /** Most that top-ups of a calendar month (UTC) cost, in hundredths of the currency unit. */
  monthlyLimit: number;
  /** Null in the test checkout, and until a card is entered. */
  card: SavedCard | null;
  /** Number of failed payments since the last successful one. */
  declines: number;
  /** The newest failure; null after a successful payment and after a change by the owner. */
  failure: { at: Date; reason: TopUpFailure } | null;
  /** Number of top-ups that were decided on. Each decision writes it, so that concurrent ones conflict. */
  decided: number;
}

/** The purchase of a top-up, and its payment. */
export interface TopUpPayment {
  pack: Pack;
  card: SavedCard | null;
  /** The month (UTC) to whose ceiling it counts, such as `2026-11`. */
  month: string;
  /** When it was decided on, which is before the first request to Stripe. */
  at: Date;
}

/**
 * A crossing of the threshold, for which at most one payment is made. Its id derives from that of the journal entry of the charge
 * that crossed it.
 */
export interface TopUpRunDoc {
  _id: string;
  accountId: string;
  /** Time of the charge. */
  at: Date;
  /**
   * `due`: nothing was decided yet. `charging`: the payment was decided on, and may have been made. `paid`, `failed`: its result is
   * known. `skipped`: no payment was decided on.
   */
  state: 'due' | 'charging' | 'paid' | 'failed' | 'skipped';
  /** Number of attempts to advance it. */
  tries: number;
  /** Time of the next attempt; null when it has ended. */
  dueAt: Date | null;
  /** Set from `charging` on. */
  payment?: TopUpPayment;
  /** Id of the payment, once it is known. */
  paymentId?: string;
  /** Why it failed, or why no payment was made. `off`: automatic top-ups were off. `recovered`: the balance was higher again. */
  reason?: TopUpFailure | 'off' | 'recovered';
}

export const TOP_UP_RUN_INDEXES: IndexDescription[] = [
  { key: { dueAt: 1 }, partialFilterExpression: { dueAt: { $type: 'date' } } },
  { key: { accountId: 1, at: -1, _id: -1 } },
  { key: { accountId: 1, 'payment.month': 1, state: 1 } },
];
