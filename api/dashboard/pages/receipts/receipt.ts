import { ServiceError } from '../../../../schemas/errors.ts';
import type { Account } from '../../../../store/accounts/accountDocs.ts';
import type { InvoiceDoc } from '../../../../store/billing/invoiceDocs.ts';
import type { Purchase } from '../../../../store/billing/payments.ts';
import { type BillingDocument, fitsPdf } from '../../../billing/billingDocument.ts';
import { billingPdf } from '../../../billing/billingPdf.ts';
import { invoiceContent } from '../../../billing/invoice.ts';
import { receiptOf } from '../../../billing/receipt.ts';
import type { Context } from '../../../http/context.ts';

/** Returns the receipt of a purchase. @param payment null: there is none @throws ServiceError not_found */
export function receiptOfPurchase(
  payment: Purchase | null,
  { _id: accountId, email }: Account,
  publicUrl: string | null,
): BillingDocument {
  const receipt = payment && receiptOf(payment, { buyer: { email, accountId }, publicUrl });
  if (receipt === null) throw new ServiceError('not_found');
  return receipt;
}

/** Returns the content of an invoice. @param invoice null: there is none @throws ServiceError not_found */
export function contentOfInvoice(invoice: InvoiceDoc | null): BillingDocument {
  if (invoice === null) throw new ServiceError('not_found');
  return invoiceContent(invoice);
}

/**
 * Sends a document as a PDF. @param kind first part of the name of the file
 *
 * @throws ServiceError not_found: the PDF could not show all characters, and is not offered
 */
export async function sendPdf(
  ctx: Context,
  document: BillingDocument,
  kind: 'receipt' | 'invoice',
): Promise<void> {
  if (!fitsPdf(document)) throw new ServiceError('not_found');
  ctx.attachment(`${kind}-${document.id}.pdf`);
  ctx.type = 'application/pdf';
  ctx.body = await billingPdf(document);
}
