import { ServiceError } from '../../../../schemas/errors.ts';
import type { BillingDocument } from '../../../billing/billingDocument.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { sendPage, type Visit } from '../../frame/pageRouter.ts';
import { contentOfInvoice, receiptOfPurchase, sendPdf } from '../../pages/receipts/receipt.ts';
import { billingPage } from '../../pages/receipts/view.ts';
import { accountPath, OPERATOR_PATH, operatorInvoicePath, operatorReceiptPath } from '../paths.ts';

/** Registers the operator's pages of receipts and invoices of any account, and their PDF files. */
export function receiptRoutes({ operatorPages: pages, core, payments, invoices }: Dashboard): void {
  const { env, accounts } = core;

  /** The receipt of the payment, its account and the numbers of its invoices. */
  async function find({ id }: Visit) {
    const payment = await payments.findAny(id);
    const account = payment && (await accounts.find(payment.accountId));
    if (account === null) throw new ServiceError('not_found');
    const document = receiptOfPurchase(payment, account, env.PUBLIC_URL);
    return { document, accountId: account._id, numbers: payment?.invoiced?.numbers ?? [] };
  }

  pages.get(`${OPERATOR_PATH}/payments/:id`, async (visit) => {
    const { document, accountId, numbers } = await find(visit);
    const page = billingPage({
      viewer: visit.viewer,
      document,
      pdf: `${operatorReceiptPath(document.id)}/receipt.pdf`,
      section: 'Operator',
      parent: { path: `${accountPath(accountId)}#payments`, name: 'Account' },
      links: numbers.map((name) => ({ path: operatorInvoicePath(name), name })),
    });
    sendPage(visit.ctx, page);
  });

  pages.get(`${OPERATOR_PATH}/payments/:id/receipt.pdf`, async (visit) =>
    sendPdf(visit.ctx, (await find(visit)).document, 'receipt'),
  );

  const invoiceFor = async ({ id }: Visit): Promise<BillingDocument> =>
    contentOfInvoice(await invoices.findAny(id));

  pages.get(`${OPERATOR_PATH}/invoices/:id`, async (visit) => {
    const invoice = await invoices.findAny(visit.id);
    const document = contentOfInvoice(invoice);
    const page = billingPage({
      viewer: visit.viewer,
      document,
      pdf: `${operatorInvoicePath(document.id)}/invoice.pdf`,
      section: 'Operator',
      parent: { path: operatorReceiptPath(invoice?.paymentId ?? ''), name: 'Receipt' },
    });
    sendPage(visit.ctx, page);
  });

  pages.get(`${OPERATOR_PATH}/invoices/:id/invoice.pdf`, async (visit) =>
    sendPdf(visit.ctx, await invoiceFor(visit), 'invoice'),
  );
}
