import Stripe from 'stripe';
import type { TopUpFailure, TopUpPayment } from '../../store/billing/topUpRunDocs.ts';

/** A top-up whose payment was decided on. */
export interface Charge {
  /** Id of the top-up: the payment with it is made at most once. */
  topUpId: string;
  accountId: string;
  payment: TopUpPayment;
  /** Id of the payment at Stripe, if it is known from an earlier attempt. */
  paymentId?: string | undefined;
  /** False if the owner has switched automatic top-ups off since: then no payment is made, but one that was made is found. */
  isWanted: boolean;
}

/**
 * The result of a payment. `processing`: not known yet, because the means of payment takes days. `unwanted`: none was made, and
 * none is wanted any more.
 */
export type ChargeResult =
  | { status: 'paid'; paymentId: string; test: boolean }
  | { status: 'processing'; paymentId: string }
  | { status: 'failed'; reason: TopUpFailure }
  | { status: 'unwanted' };

/**
 * Age in milliseconds of a payment from which on its request is not repeated. Stripe may forget idempotency keys after 24 hours
 * (https://docs.stripe.com/api/idempotent_requests), and a repeated request would pay again.
 */
const KEY_MS = 23 * 3_600_000;
/** How much the clocks of this machine and of Stripe can differ, in seconds. */
const CLOCKS_S = 3600;

function resultOf({ id, status, livemode }: Stripe.PaymentIntent): ChargeResult {
  if (status === 'succeeded') return { status: 'paid', paymentId: id, test: !livemode };
  if (status === 'processing') return { status: 'processing', paymentId: id };
  // It stays unconfirmed: the service gives its client secret to nobody, and a confirmation needs that secret.
  return { status: 'failed', reason: status === 'requires_action' ? 'authentication' : 'declined' };
}

/** Statuses of requests that Stripe refuses. 409 is none of them: another request with the same key is still running. */
const REFUSED: ReadonlySet<unknown> = new Set([400, 404]);

/** The result of an error that says that Stripe made no payment; null for errors after which that is unknown. */
function failureOf(error: unknown): ChargeResult | null {
  if (error instanceof Stripe.errors.StripeCardError)
    return {
      status: 'failed',
      reason: error.code === 'authentication_required' ? 'authentication' : 'declined',
    };
  if (error instanceof Stripe.errors.StripeInvalidRequestError && REFUSED.has(error.statusCode))
    return { status: 'failed', reason: 'refused' };
  return null;
}

/** Finds the payment of a top-up; null if Stripe has none. @param customerId customer whose payments are searched */
async function findPayment(
  stripe: Stripe,
  { topUpId, payment }: Charge,
  customerId: string,
): Promise<Stripe.PaymentIntent | null> {
  const since = Math.floor(payment.at.getTime() / 1000) - CLOCKS_S;
  for await (const intent of stripe.paymentIntents.list({ customer: customerId, created: { gte: since } }))
    if (intent.metadata.topUp === topUpId) return intent;
  return null;
}

/**
 * Pays with a saved card while the owner is away. Can be repeated at any time, in any process: while Stripe knows the idempotency
 * key, a repetition returns the result of the first request; later the payment is looked up.
 *
 * @throws if it is unknown whether Stripe made the payment
 */
export async function chargeCard(stripe: Stripe, charge: Charge): Promise<ChargeResult> {
  const { topUpId, accountId, payment, paymentId, isWanted } = charge;
  const { pack, card, at } = payment;
  if (paymentId !== undefined) return resultOf(await stripe.paymentIntents.retrieve(paymentId));
  if (card === null) return { status: 'failed', reason: 'card' };
  if (!isWanted || Date.now() - at.getTime() > KEY_MS) {
    const found = await findPayment(stripe, charge, card.customerId);
    if (found !== null) return resultOf(found);
    return isWanted ? { status: 'failed', reason: 'unreachable' } : { status: 'unwanted' };
  }
  try {
    const intent = await stripe.paymentIntents.create(
      {
        amount: pack.amount,
        currency: pack.currency.toLowerCase(),
        customer: card.customerId,
        payment_method: card.paymentMethodId,
        off_session: true,
        confirm: true,
        // Means of payment that redirect the owner would need a page to return to.
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        description: `${pack.credits} credits, automatic top-up`,
        metadata: {
          accountId,
          topUp: topUpId,
          credits: pack.credits,
          amount: pack.amount,
          currency: pack.currency,
        },
      },
      { idempotencyKey: topUpId },
    );
    return resultOf(intent);
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    return failure;
  }
}
