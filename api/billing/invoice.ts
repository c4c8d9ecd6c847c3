import type { Env } from '../../schemas/env.ts';
import type { InvoiceDoc } from '../../store/billing/invoiceDocs.ts';
import type { InvoiceTerms } from '../../store/billing/invoices.ts';
import { priceWithCode } from '../dashboard/components/price.ts';
import { count } from '../dashboard/components/text.ts';
import { operatorOf } from '../operator.ts';
import { type BillingDocument, dayOf } from './billingDocument.ts';

/** Returns what is configured for invoices; null if the installation issues none. */
export function invoiceTermsOf(env: Env): InvoiceTerms | null {
  const operator = operatorOf(env);
  const taxRate = env.INVOICE_TAX_RATE;
  if (operator === null || operator.address === null || taxRate === null) return null;
  const { name, address, email } = operator;
  return {
    seller: { name, address, email, vatId: env.OPERATOR_VAT_ID },
    taxName: env.INVOICE_TAX_NAME,
    taxRate,
    note: env.INVOICE_NOTE,
    reverseCharge: env.INVOICE_REVERSE_CHARGE,
  };
}

const COUNTRIES = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** The name of a country; null if the code is not one of ISO 3166-1. */
export const countryName = (code: string): string | null =>
  /^[A-Z]{2}$/.test(code) ? (COUNTRIES.of(code) ?? null) : null;

const rateText = (rate: number): string => `${new Intl.NumberFormat('en').format(rate / 100)} %`;

function buyerFacts({ buyer, accountId }: InvoiceDoc): BillingDocument['facts'] {
  if (buyer === null) return [{ term: 'Buyer', value: `Account ${accountId}` }];
  const { name, address, country, vatId } = buyer;
  return [
    { term: 'Buyer', value: name },
    { term: 'Address', value: `${address}, ${countryName(country) ?? country}` },
    ...(vatId === null ? [] : [{ term: 'VAT id of the buyer', value: vatId }]),
    { term: 'Account', value: accountId },
  ];
}

/** States how an invoice was paid, or to what a credit note refers. */
function reasonOf({ kind, test, corrects }: InvoiceDoc): string {
  if (test) return 'This document is about a test payment: no money was moved. It is not a tax invoice.';
  if (kind === 'credit_note')
    return `This amount of the invoice ${corrects} was paid back with the same means of payment.`;
  return corrects === undefined
    ? 'The amount was paid in advance. There is nothing to pay.'
    : `A dispute about the invoice ${corrects} was decided for the seller. There is nothing to pay.`;
}

/** The content of an invoice or a credit note as it is shown. */
export function invoiceContent(invoice: InvoiceDoc): BillingDocument {
  const { _id: number, kind, issuedAt, seller, paymentId, credits, currency, corrects } = invoice;
  const { net, tax, gross, taxName, taxRate, notes } = invoice;
  const title = `${invoice.test ? 'Test ' : ''}${kind === 'invoice' ? 'invoice' : 'credit note'}`;
  // `0 - value`, because -value could be -0, which is formatted with its sign.
  const amount = (value: number) => priceWithCode(kind === 'invoice' ? value : 0 - value, currency);
  return {
    id: number,
    title: `${title.charAt(0).toUpperCase()}${title.slice(1)}`,
    at: issuedAt,
    facts: [
      { term: 'Number', value: number },
      ...(corrects === undefined ? [] : [{ term: 'For invoice', value: corrects }]),
      { term: 'Date', value: dayOf(issuedAt) },
      { term: 'Seller', value: seller.name },
      { term: 'Address', value: seller.address },
      ...(seller.vatId === null ? [] : [{ term: 'VAT id of the seller', value: seller.vatId }]),
      { term: 'Contact', value: seller.email },
      ...buyerFacts(invoice),
      { term: 'Item', value: `${count(credits, 'credit')}, prepaid` },
      { term: 'Payment', value: paymentId },
      { term: 'Net', value: amount(net) },
      { term: `${taxName} ${rateText(taxRate)}`, value: amount(tax) },
      { term: 'Total', value: amount(gross) },
    ],
    notes: [...notes, reasonOf(invoice)],
  };
}
