import type { IndexDescription } from 'mongodb';

/** A payment with which a program answered a response for lack of credits. */
export interface TopUpDoc {
  /** Id of the challenge that it answers. */
  _id: string;
  accountId: string;
  credits: number;
  /** Month (UTC) in whose ceiling the credits count, such as `2026-11`. */
  month: string;
  /** SHA-256 of the payment token, in base64url. The token itself is not stored. */
  proof: string;
  /** `pending` until it is known whether the payment succeeded. */
  state: 'pending' | 'paid' | 'failed';
  /** Id of the payment at Stripe; null unless it is paid. */
  paymentId: string | null;
  at: Date;
  /** When MongoDB deletes the document, long after its challenge has expired. The payment itself is kept. */
  forgetAt: Date;
}

export const TOP_UP_INDEXES: IndexDescription[] = [
  { key: { accountId: 1, at: -1 } },
  { key: { forgetAt: 1 }, expireAfterSeconds: 0 },
];
