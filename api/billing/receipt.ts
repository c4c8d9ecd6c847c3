import type { PaymentDoc } from '../../store/mongo.ts';
import { priceWithCode } from '../dashboard/components/price.ts';
import { count } from '../dashboard/components/text.ts';

/** Whether an id is that of a payment at Stripe, for which Stripe has a receipt. */
export const isStripePayment = (paymentId: string): boolean => paymentId.startsWith('pi_');

/** A receipt for a purchase: the same facts on the page and in the PDF. */
export interface Receipt {
  /** Id of the payment. */
  id: string;
  paidAt: Date;
  facts: readonly { term: string; value: string }[];
}

interface Parties {
  buyer: { email: string; accountId: string };
  /** Public URL of the installation; null if none is configured. */
  publicUrl: string | null;
}

const NAME = 'Utility Tools';

/** The payment method, as far as it is known: Stripe reports no details of cards. */
function methodOf({ _id, test }: PaymentDoc): string {
  if (_id.startsWith('test_')) return 'Test checkout, no money was paid';
  return test ? 'Stripe in test mode, no money was paid' : 'Stripe';
}

/** Creates the receipt of a purchase; null while its payment is not confirmed. */
export function receiptOf(payment: PaymentDoc, { buyer, publicUrl }: Parties): Receipt | null {
  const { _id, paidAt, credits, amount, currency, refunded } = payment;
  if (paidAt === null) return null;
  const facts = [
    { term: 'Receipt number', value: _id },
    { term: 'Date', value: `${paidAt.toISOString().slice(0, 10)} (UTC)` },
    { term: 'Seller', value: publicUrl === null ? NAME : `${NAME}, ${new URL(publicUrl).host}` },
    { term: 'Buyer', value: buyer.email },
    { term: 'Account', value: buyer.accountId },
    { term: 'Item', value: `${count(credits, 'credit')}, prepaid` },
    { term: 'Total paid', value: priceWithCode(amount, currency) },
    { term: 'Paid by', value: methodOf(payment) },
    ...(refunded === 0 ? [] : [{ term: 'Refunded', value: priceWithCode(refunded, currency) }]),
  ];
  return { id: _id, paidAt, facts };
}
