import type Stripe from 'stripe';
import type { DisputeStage } from '../../store/mongo.ts';
import type { Report } from '../../store/payments.ts';

/** `null`: it is not about anything that we sold, or changes no credits. A text: what is wrong with it. */
type Reading = Report | string | null;

const idOf = (value: string | { id: string } | null): string | null =>
  value === null || typeof value === 'string' ? value : value.id;

/** A whole number above zero, or null. */
function positive(text: string | undefined): number | null {
  const value = Number(text);
  return /^\d{1,10}$/.test(text ?? '') && value > 0 ? value : null;
}

/** What was paid has to be what we asked for when the checkout was made; that travels in its metadata. */
function readSession(source: string, session: Stripe.Checkout.Session): Reading {
  const { accountId } = session.metadata ?? {};
  if (accountId === undefined || session.payment_status !== 'paid') return null;
  const credits = positive(session.metadata?.credits);
  const amount = positive(session.metadata?.amount);
  const currency = session.metadata?.currency;
  if (credits === null || amount === null || currency === undefined) return 'the order cannot be read';
  if (session.client_reference_id !== accountId) return 'it is for another account';
  if (session.amount_total !== amount) return 'another amount was paid';
  if (session.currency?.toUpperCase() !== currency) return 'it was paid in another currency';
  return {
    paymentId: idOf(session.payment_intent) ?? session.id,
    source,
    currency,
    fact: { kind: 'paid', accountId, credits, amount, test: !session.livemode },
  };
}

/** https://docs.stripe.com/api/disputes/object#dispute_object-status */
function stageOf(status: Stripe.Dispute.Status): DisputeStage {
  switch (status) {
    case 'warning_needs_response':
    case 'warning_under_review':
      return 'inquiry';
    case 'won':
    case 'warning_closed':
    case 'prevented':
      return 'won';
    case 'lost':
      return 'lost';
    default:
      return 'open';
  }
}

/** An event as what it tells of a payment. The object in it says all that counts, so what it is called hardly matters. */
export function reportOf(event: Stripe.Event): Reading {
  const source = event.id;
  switch (event.type) {
    // A payment that takes days completes its checkout unpaid, and succeeds later.
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return readSession(source, event.data.object);
    case 'charge.refunded': {
      const { payment_intent, amount_refunded, currency } = event.data.object;
      const paymentId = idOf(payment_intent);
      if (paymentId === null) return null;
      return {
        paymentId,
        source,
        currency: currency.toUpperCase(),
        fact: { kind: 'refunded', amount: amount_refunded },
      };
    }
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
    case 'charge.dispute.closed': {
      const { id, payment_intent, amount, currency, status } = event.data.object;
      const paymentId = idOf(payment_intent);
      if (paymentId === null) return null;
      return {
        paymentId,
        source,
        currency: currency.toUpperCase(),
        fact: { kind: 'disputed', dispute: { id, amount, stage: stageOf(status) } },
      };
    }
    default:
      return null;
  }
}
