import { ServiceError } from '../../../../schemas/errors.ts';
import type { Purchase } from '../../../../store/billing/payments.ts';
import type { BillingDocument } from '../../../billing/billingDocument.ts';
import { isStripePayment } from '../../../billing/receipt.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { CREDITS_PATH, INVOICES_PATH, invoicePath, RECEIPTS_PATH, receiptPath } from '../credits/paths.ts';
import { contentOfInvoice, receiptOfPurchase, sendPdf } from './receipt.ts';
import { billingPage } from './view.ts';

/** Requests to Stripe per account, because Stripe limits the requests of all accounts together. */
const STRIPE_RECEIPTS = { rate: 10 / 60, burst: 10 };

/** Registers the pages of receipts and invoices, their PDF files, and the links to the receipts of Stripe. */
export function receiptsRoutes({ pages, core, payments, invoices, stripe }: Dashboard): void {
  const { env, limits } = core;
  const onCredits = { section: 'Credits', parent: { path: CREDITS_PATH, name: 'Credits' } } as const;

  const purchaseOf = ({ viewer, id }: Visit): Promise<Purchase | null> =>
    payments.find(viewer.account._id, id);
  const receiptFor = async (visit: Visit, payment: Purchase | null): Promise<BillingDocument> =>
    receiptOfPurchase(payment, visit.viewer.account, env.PUBLIC_URL);

  async function receiptPage(visit: Visit, more = {}): Promise<string> {
    const payment = await purchaseOf(visit);
    const document = await receiptFor(visit, payment);
    const path = receiptPath(document.id);
    const links = (payment?.invoiced?.numbers ?? []).map((name) => ({ path: invoicePath(name), name }));
    if (stripe !== null && isStripePayment(document.id))
      links.push({ path: `${path}/stripe`, name: 'Receipt of Stripe' });
    return billingPage({
      viewer: visit.viewer,
      document,
      pdf: `${path}/receipt.pdf`,
      ...onCredits,
      links,
      ...more,
    });
  }

  pages.get(`${RECEIPTS_PATH}/:id`, async (visit) => sendPage(visit.ctx, await receiptPage(visit)));

  pages.get(`${RECEIPTS_PATH}/:id/receipt.pdf`, async (visit) =>
    sendPdf(visit.ctx, await receiptFor(visit, await purchaseOf(visit)), 'receipt'),
  );

  pages.get(`${RECEIPTS_PATH}/:id/stripe`, async (visit) => {
    const receipt = await receiptFor(visit, await purchaseOf(visit));
    if (stripe === null || !isStripePayment(receipt.id)) throw new ServiceError('not_found');
    const open = async () => {
      const taken = await limits.takeToken?.(`receipt:${visit.viewer.account._id}`, STRIPE_RECEIPTS);
      if (taken?.allowed === false)
        throw new ServiceError('rate_limited', {
          detail: 'At most 10 receipts of Stripe can be opened per minute. Try again in a minute.',
          retryAfter: taken.retryAfterSeconds,
        });
      goTo(visit.ctx, await stripe.receiptUrl(receipt.id));
    };
    await attempt(visit.ctx, open, (failure) => receiptPage(visit, { failure }));
  });

  const invoiceFor = async ({ viewer, id }: Visit): Promise<BillingDocument> =>
    contentOfInvoice(await invoices.find(viewer.account._id, id));

  pages.get(`${INVOICES_PATH}/:id`, async (visit) => {
    const document = await invoiceFor(visit);
    const pdf = `${invoicePath(document.id)}/invoice.pdf`;
    sendPage(visit.ctx, billingPage({ viewer: visit.viewer, document, pdf, ...onCredits }));
  });

  pages.get(`${INVOICES_PATH}/:id/invoice.pdf`, async (visit) =>
    sendPdf(visit.ctx, await invoiceFor(visit), 'invoice'),
  );
}
