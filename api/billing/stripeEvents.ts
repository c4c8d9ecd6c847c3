import type Stripe from 'stripe';
import type { DisputeStage } from '../../store/billing/paymentDocs.ts';
import type { Report } from '../../store/billing/payments.ts';

/**
 * The report of a Stripe event. Null: the event does not concern a purchase of this service, or changes no credits. A
 * string: why the event is invalid.
 */
type Reading = Report | string | null;

const idOf = (value: string | { id: string } | null): string | null =>
  value === null || typeof value === 'string' ? value : value.id;

/** Parses a whole number above zero; null for any other text. */
function positive(text: string | undefined): number | null {
  const value = Number(text);
  return /^\d{1,10}$/.test(text ?? '') && value > 0 ? value : null;
}

/**
 * Reads the payment of a checkout, and checks that it matches the purchase, which the metadata of the checkout
 * describe.
 */
function readSession(source: string, session: Stripe.Checkout.Session): Reading {
  const { accountId } = session.metadata ?? {};
  if (accountId === undefined || session.payment_status !== 'paid') return null;
  const credits = positive(session.metadata?.credits);
  const amount = positive(session.metadata?.amount);
  const currency = session.metadata?.currency;
  if (credits === null || amount === null || currency === undefined)
    return 'the metadata of the checkout is invalid';
  if (session.client_reference_id !== accountId) return 'the account differs from the checkout';
  if (session.amount_total !== amount) return 'the paid amount differs from the checkout';
  if (session.currency?.toUpperCase() !== currency) return 'the currency differs from the checkout';
  return {
    paymentId: idOf(session.payment_intent) ?? session.id,
    source,
    currency,
    fact: { kind: 'paid', accountId, credits, amount, test: !session.livemode },
  };
}

/** Reads the payment of an automatic top-up or of a program, which the metadata describe. Other payments have none. */
function readTopUp(source: string, intent: Stripe.PaymentIntent): Reading {
  const { accountId, topUp, currency } = intent.metadata;
  if (accountId === undefined || topUp === undefined) return null;
  const credits = positive(intent.metadata.credits);
  const amount = positive(intent.metadata.amount);
  if (credits === null || amount === null || currency === undefined)
    return 'the metadata of the payment is invalid';
  if (intent.amount_received !== amount) return 'the paid amount differs from the top-up';
  if (intent.currency.toUpperCase() !== currency) return 'the currency differs from the top-up';
  const fact = { kind: 'paid', accountId, credits, amount, test: !intent.livemode } as const;
  return { paymentId: intent.id, source, currency, fact };
}

/** A card that an owner has saved for automatic top-ups. */
interface CardSetup {
  accountId: string;
  /** Identifies the form by which the owner agreed. */
  reference: string;
  setupIntentId: string;
}

/** Reads the completed setup of a card; null for all other events. */
export function readCardSetup(event: Stripe.Event): CardSetup | null {
  if (event.type !== 'checkout.session.completed') return null;
  const { mode, metadata, client_reference_id: accountId, setup_intent } = event.data.object;
  const setupIntentId = idOf(setup_intent);
  const reference = metadata?.autoTopUp;
  if (mode !== 'setup' || accountId === null || setupIntentId === null || reference === undefined)
    return null;
  return { accountId, reference, setupIntentId };
}

/** Id of the challenge that a payment of a program answers, or of an automatic top-up; null for other events. */
export const challengeOf = (event: Stripe.Event): string | null =>
  event.type === 'payment_intent.succeeded' ? (event.data.object.metadata.topUp ?? null) : null;

/** Converts the status of a Stripe dispute (https://docs.stripe.com/api/disputes/object#dispute_object-status). */
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

/**
 * Converts a Stripe event to a report on a payment. The state of the payment is read from the event's object, not
 * from its type.
 */
export function readReport(event: Stripe.Event): Reading {
  const source = event.id;
  switch (event.type) {
    // With delayed payment methods, the checkout completes before it is paid, and the payment succeeds days later.
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return readSession(source, event.data.object);
    case 'payment_intent.succeeded':
      return readTopUp(source, event.data.object);
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
