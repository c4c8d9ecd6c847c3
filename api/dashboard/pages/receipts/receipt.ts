import { ServiceError } from '../../../../schemas/errors.ts';
import type { Account } from '../../../../store/accounts/accountDocs.ts';
import type { Purchase } from '../../../../store/billing/payments.ts';
import { type Receipt, receiptOf } from '../../../billing/receipt.ts';
import { receiptPdf } from '../../../billing/receiptPdf.ts';
import type { Context } from '../../../http/context.ts';

/** Returns the receipt of a purchase. @param payment null: there is none @throws ServiceError not_found */
export function receiptOfPurchase(
  payment: Purchase | null,
  { _id: accountId, email }: Account,
  publicUrl: string | null,
): Receipt {
  const receipt = payment && receiptOf(payment, { buyer: { email, accountId }, publicUrl });
  if (receipt === null) throw new ServiceError('not_found');
  return receipt;
}

export async function sendPdf(ctx: Context, receipt: Receipt): Promise<void> {
  ctx.attachment(`receipt-${receipt.id}.pdf`);
  ctx.type = 'application/pdf';
  ctx.body = await receiptPdf(receipt);
}
