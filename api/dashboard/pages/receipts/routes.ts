import { ServiceError } from '../../../../schemas/errors.ts';
import { isStripePayment, type Receipt } from '../../../billing/receipt.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { CREDITS_PATH, RECEIPTS_PATH, receiptPath } from '../credits/view.ts';
import { receiptOfPurchase, sendPdf } from './receipt.ts';
import { receiptPage } from './view.ts';

/** Requests to Stripe per account, because Stripe limits the requests of all accounts together. */
const STRIPE_RECEIPTS = { rate: 10 / 60, burst: 10 };

/** Registers the pages of receipts, their PDF files, and the links to the receipts of Stripe. */
export function receiptsRoutes({ pages, core, payments, stripe }: Dashboard): void {
  const { env, limits } = core;

  const receiptFor = async ({ viewer: { account }, id }: Visit): Promise<Receipt> =>
    receiptOfPurchase(await payments.find(account._id, id), account, env.PUBLIC_URL);

  const pageOf = ({ viewer }: Visit, receipt: Receipt) => ({
    viewer,
    receipt,
    path: receiptPath(receipt.id),
    section: 'Credits' as const,
    parent: { path: CREDITS_PATH, name: 'Credits' },
    hasStripeReceipt: stripe !== null && isStripePayment(receipt.id),
  });

  pages.get(`${RECEIPTS_PATH}/:id`, async (visit) =>
    sendPage(visit.ctx, receiptPage(pageOf(visit, await receiptFor(visit)))),
  );

  pages.get(`${RECEIPTS_PATH}/:id/receipt.pdf`, async (visit) => sendPdf(visit.ctx, await receiptFor(visit)));

  pages.get(`${RECEIPTS_PATH}/:id/stripe`, async (visit) => {
    const receipt = await receiptFor(visit);
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
    await attempt(visit.ctx, open, (failure) => receiptPage({ ...pageOf(visit, receipt), failure }));
  });
}
