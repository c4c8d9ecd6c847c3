import type { IndexDescription } from 'mongodb';
import type { BillingDetails } from '../accounts/accountDocs.ts';

/** The operator, as it is named on invoices. */
export interface Seller {
  name: string;
  /** Postal address in one line. */
  address: string;
  email: string;
  vatId: string | null;
}

/**
 * An invoice for a purchase, or a credit note for a part of one that was paid back. It has copies of all details, and is never
 * changed or deleted.
 */
export interface InvoiceDoc {
  /** The number, such as `INV-000001`; see `invoices.ts`. */
  _id: string;
  kind: 'invoice' | 'credit_note';
  accountId: string;
  paymentId: string;
  issuedAt: Date;
  /** Whether the payment was made in test mode, in which no money moves. Such documents have numbers of their own. */
  test: boolean;
  seller: Seller;
  /** Null if the account had no billing details. */
  buyer: BillingDetails | null;
  /** Credits of the purchase. */
  credits: number;
  /** ISO 4217 code in upper case. */
  currency: string;
  /** Amounts in hundredths of the currency unit, above zero also in credit notes. `gross` is the sum of the others. */
  net: number;
  tax: number;
  gross: number;
  taxName: string;
  /** In hundredths of a percent: 1900 is 19 %. */
  taxRate: number;
  /** Texts of the operator: the general one, and that of the reverse charge if it applies. */
  notes: string[];
  /** Number of the first invoice of the payment; missing in that one. */
  corrects?: string;
}

/** The newest number of a series of documents, such as `INV`, which is the document's id. */
export interface InvoiceSeriesDoc {
  _id: string;
  last: number;
}

export const INVOICE_INDEXES: IndexDescription[] = [
  { key: { accountId: 1, issuedAt: -1, _id: -1 } },
  { key: { issuedAt: -1, _id: -1 } },
];
