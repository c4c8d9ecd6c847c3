import type { PaymentDoc } from '../../store/billing/paymentDocs.ts';
import { priceWithCode } from '../dashboard/components/price.ts';
import { count } from '../dashboard/components/text.ts';
import { type BillingDocument, dayOf } from './billingDocument.ts';

/** Whether an id is that of a payment at Stripe, for which Stripe has a receipt. */
export const isStripePayment = (paymentId: string): boolean => paymentId.startsWith('pi_');

interface Parties {
  buyer: { email: string; accountId: string };
  /** Public URL of the installation; null if none is configured. */
  publicUrl: string | null;
}

const NAME = 'Utility Tools';

/** The total and the payment method. The method has no details of a card, because Stripe does not report them. */
function paymentOf({ _id, test, amount, currency }: PaymentDoc): BillingDocument['facts'] {
  const total = priceWithCode(amount, currency);
  if (!test && isStripePayment(_id))
    return [
      { term: 'Total paid', value: total },
      { term: 'Paid by', value: 'Stripe' },
    ];
  const mode = isStripePayment(_id) ? 'Stripe in test mode' : 'test checkout';
  return [
    { term: 'Total', value: total },
    { term: 'Payment', value: `None (${mode})` },
  ];
}

/** Says whether the purchase has an invoice, because a receipt is none. */
const invoiceNote = ({ invoiced }: PaymentDoc): string =>
  invoiced === undefined
    ? 'This is a receipt. It is not a tax invoice.'
    : `This is a receipt. The invoice of this purchase is ${invoiced.numbers[0]}.`;

/** Creates the receipt of a purchase; null while its payment is not confirmed. */
export function receiptOf(payment: PaymentDoc, { buyer, publicUrl }: Parties): BillingDocument | null {
  const { _id, paidAt, credits, currency, refunded } = payment;
  if (paidAt === null) return null;
  const facts = [
    { term: 'Receipt number', value: _id },
    { term: 'Date', value: dayOf(paidAt) },
    { term: 'Seller', value: publicUrl === null ? NAME : `${NAME}, ${new URL(publicUrl).host}` },
    { term: 'Buyer', value: buyer.email },
    { term: 'Account', value: buyer.accountId },
    { term: 'Item', value: `${count(credits, 'credit')}, prepaid` },
    ...paymentOf(payment),
    ...(refunded === 0 ? [] : [{ term: 'Refunded', value: priceWithCode(refunded, currency) }]),
  ];
  return { id: _id, title: 'Receipt', at: paidAt, facts, notes: [invoiceNote(payment)] };
}
