import type { Env } from '../../../schemas/env.ts';
import type { RateLimit } from '../../../schemas/envValues.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import type { Account } from '../../../store/accounts/accountDocs.ts';
import type { Accounts } from '../../../store/accounts/accounts.ts';
import type { Payments, Purchase } from '../../../store/billing/payments.ts';
import type { TokenResult } from '../../../store/keys/buckets.ts';
import { isStripePayment, type Receipt, receiptOf } from '../../billing/receipt.ts';
import { receiptPdf } from '../../billing/receiptPdf.ts';
import type { StripeService } from '../../billing/stripeService.ts';
import type { Context } from '../../http/context.ts';
import { operatorRouter } from '../operatorRouter.ts';
import { attempt, goTo, type PageRouter, sendPage, type Visit } from '../pageRouter.ts';
import { CREDITS_PATH, RECEIPTS_PATH, receiptPath } from '../pages/creditsPage.ts';
import { accountPath, OPERATOR_PATH, operatorReceiptPath } from '../pages/operatorPage.ts';
import { receiptPage } from '../pages/receiptPage.ts';

interface Dependencies {
  payments: Pick<Payments, 'find' | 'findAny'>;
  accounts: Pick<Accounts, 'find'>;
  /** Takes a token from a bucket; null if rate limits are off. */
  takeToken: ((bucket: string, limit: RateLimit) => Promise<TokenResult>) | null;
  /** Null if Stripe is not configured. */
  stripe: StripeService | null;
  env: Pick<Env, 'PUBLIC_URL'>;
}

/** Requests to Stripe per account, because Stripe limits the requests of all accounts together. */
const STRIPE_RECEIPTS = { rate: 10 / 60, burst: 10 };

/** Registers the pages of receipts for owners and operators, their PDF files, and the links to the receipts of Stripe. */
export function receiptPages(pageRouter: PageRouter, deps: Dependencies): void {
  const { payments, accounts, takeToken, stripe, env } = deps;

  /** @throws ServiceError not_found */
  function receiptOfPurchase(payment: Purchase | null, { _id: accountId, email }: Account): Receipt {
    const buyer = { email, accountId };
    const receipt = payment && receiptOf(payment, { buyer, publicUrl: env.PUBLIC_URL });
    if (receipt === null) throw new ServiceError('not_found');
    return receipt;
  }

  const receiptFor = async ({ viewer: { account }, id }: Visit): Promise<Receipt> =>
    receiptOfPurchase(await payments.find(account._id, id), account);

  /** The receipt of any account, for operators. */
  async function anyReceipt({ id }: Visit): Promise<{ receipt: Receipt; accountId: string }> {
    const payment = await payments.findAny(id);
    const account = payment && (await accounts.find(payment.accountId));
    if (account === null) throw new ServiceError('not_found');
    return { receipt: receiptOfPurchase(payment, account), accountId: account._id };
  }

  const pageOf = ({ viewer }: Visit, receipt: Receipt) => ({
    viewer,
    receipt,
    path: receiptPath(receipt.id),
    section: 'Credits' as const,
    parent: { path: CREDITS_PATH, name: 'Credits' },
    hasStripeReceipt: stripe !== null && isStripePayment(receipt.id),
  });

  async function sendPdf(ctx: Context, receipt: Receipt): Promise<void> {
    ctx.attachment(`receipt-${receipt.id}.pdf`);
    ctx.type = 'application/pdf';
    ctx.body = await receiptPdf(receipt);
  }

  pageRouter.get(`${RECEIPTS_PATH}/:id`, async (visit) =>
    sendPage(visit.ctx, receiptPage(pageOf(visit, await receiptFor(visit)))),
  );

  pageRouter.get(`${RECEIPTS_PATH}/:id/receipt.pdf`, async (visit) =>
    sendPdf(visit.ctx, await receiptFor(visit)),
  );

  const operatorPages = operatorRouter(pageRouter);

  operatorPages.get(`${OPERATOR_PATH}/payments/:id`, async (visit) => {
    const { receipt, accountId } = await anyReceipt(visit);
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

  operatorPages.get(`${OPERATOR_PATH}/payments/:id/receipt.pdf`, async (visit) =>
    sendPdf(visit.ctx, (await anyReceipt(visit)).receipt),
  );

  pageRouter.get(`${RECEIPTS_PATH}/:id/stripe`, async (visit) => {
    const receipt = await receiptFor(visit);
    if (stripe === null || !isStripePayment(receipt.id)) throw new ServiceError('not_found');
    const open = async () => {
      const taken = await takeToken?.(`receipt:${visit.viewer.account._id}`, STRIPE_RECEIPTS);
      if (taken?.allowed === false)
        throw new ServiceError('rate_limited', {
          detail: 'At most 10 receipts of Stripe per minute. Try again later.',
          retryAfter: taken.retryAfterSeconds,
        });
      goTo(visit.ctx, await stripe.receiptUrl(receipt.id));
    };
    await attempt(visit.ctx, open, (failure) => receiptPage({ ...pageOf(visit, receipt), failure }));
  });
}
