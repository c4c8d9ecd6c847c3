import { ServiceError } from '../../../../schemas/errors.ts';
import type { Receipt } from '../../../billing/receipt.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { sendPage, type Visit } from '../../frame/pageRouter.ts';
import { receiptOfPurchase, sendPdf } from '../../pages/receipts/receipt.ts';
import { receiptPage } from '../../pages/receipts/view.ts';
import { accountPath, OPERATOR_PATH, operatorReceiptPath } from '../paths.ts';

/** Registers the operator's page of a receipt of any account, and its PDF file. */
export function receiptRoutes({ operatorPages: pages, core: { env, accounts }, payments }: Dashboard): void {
  async function find({ id }: Visit): Promise<{ receipt: Receipt; accountId: string }> {
    const payment = await payments.findAny(id);
    const account = payment && (await accounts.find(payment.accountId));
    if (account === null) throw new ServiceError('not_found');
    return { receipt: receiptOfPurchase(payment, account, env.PUBLIC_URL), accountId: account._id };
  }

  pages.get(`${OPERATOR_PATH}/payments/:id`, async (visit) => {
    const { receipt, accountId } = await find(visit);
    const page = receiptPage({
      viewer: visit.viewer,
      receipt,
      path: operatorReceiptPath(receipt.id),
      section: 'Operator',
      parent: { path: `${accountPath(accountId)}#payments`, name: 'Account' },
      hasStripeReceipt: false,
    });
    sendPage(visit.ctx, page);
  });

  pages.get(`${OPERATOR_PATH}/payments/:id/receipt.pdf`, async (visit) =>
    sendPdf(visit.ctx, (await find(visit)).receipt),
  );
}
