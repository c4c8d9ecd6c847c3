import type { Logger } from 'pino';
import Stripe from 'stripe';
import { creditsOf } from '../../schemas/callErrors.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { Pack } from '../../schemas/formats/packs.ts';
import type { SavedCard } from '../../store/billing/topUpRunDocs.ts';
import { type Charge, type ChargeResult, chargeCard } from './stripeCharge.ts';
import { createStripeHttp } from './stripeHttp.ts';

interface CheckoutRequest {
  /** Reference of the request: repeating it with the same pack returns the same checkout. */
  reference: string;
  accountId: string;
  email: string;
  pack: Pack;
  /** URL to which the buyer returns after paying. */
  paidUrl: string;
  cancelledUrl: string;
}

/** A payment with a token that a program has sent. */
interface TokenCharge {
  /** Shared payment token (`spt_…`). */
  token: string;
  /** Idempotency key: repeating it with the same values makes no second payment. At most 255 characters. */
  reference: string;
  challengeId: string;
  accountId: string;
  credits: number;
  /** In hundredths of the currency unit. */
  amount: number;
  /** ISO 4217 code in upper case. */
  currency: string;
}

/** Outcome of a payment. `refused`: no money was taken, and the same token and reference will never take any. */
export type Charged =
  | { state: 'paid'; paymentId: string; isTest: boolean }
  | { state: 'refused'; reason: string };

/** A page of Stripe on which an owner saves a card for automatic top-ups. */
export interface CardRequest
  extends Pick<CheckoutRequest, 'accountId' | 'email' | 'reference' | 'cancelledUrl'> {
  /** ISO 4217 code in upper case, of the later payments. */
  currency: string;
  /** Null: a customer is created, once for the reference. */
  customerId: string | null;
  savedUrl: string;
}

/** The parts of Stripe that this service uses. */
export interface StripeService {
  /** Creates a checkout and returns its URL. @throws ServiceError target_failed */
  startCheckout(request: CheckoutRequest): Promise<string>;
  /** Creates a page that saves a card, and returns its URL. @throws ServiceError target_failed */
  startCardSetup(request: CardRequest): Promise<string>;
  /** Returns the card of a completed setup. @throws if Stripe does not answer, or the setup has no card */
  savedCard(setupIntentId: string): Promise<SavedCard>;
  /** Pays a top-up; see `chargeCard`. */
  charge(charge: Charge): Promise<ChargeResult>;
  /**
   * Charges a payment token. Can be repeated for 24 hours.
   *
   * @throws ServiceError tool_unavailable: it is not known whether the payment succeeds
   */
  chargeToken(charge: TokenCharge): Promise<Charged>;
  /**
   * Verifies the signature and the age of an event, and parses it.
   *
   * @throws ServiceError invalid_header
   */
  readEvent(body: Buffer, signature: string): Stripe.Event;
  /**
   * Returns the URL of Stripe's own receipt for a payment.
   *
   * @throws ServiceError not_found: Stripe has no receipt; target_failed
   */
  receiptUrl(paymentId: string): Promise<string>;
}

/**
 * Timeout in milliseconds of one attempt to call Stripe. There are two attempts, and a user is waiting for the page.
 */
const TIMEOUT_MS = 10_000;
/**
 * Version of the Stripe API that has shared payment tokens, which are a preview.
 * Source: https://docs.stripe.com/agentic-commerce/concepts/shared-payment-tokens
 */
const TOKEN_VERSION = '2026-07-29.preview';
/** Statuses of responses with which Stripe refuses a payment: a wrong or used token, or a card that was declined. */
const REFUSED: readonly unknown[] = [400, 402, 404];
/** Maximum age of an event in seconds; the default of Stripe's libraries. */
const TOLERANCE_S = 300;

interface Settings {
  secretKey: string;
  webhookSecret: string;
  apiUrl: string;
  log: Logger;
}

const packLine = ({ credits, amount, currency }: Pack) => ({
  quantity: 1,
  price_data: {
    currency: currency.toLowerCase(),
    unit_amount: amount,
    product_data: { name: creditsOf(credits) },
  },
});

export function createStripeService({ secretKey, webhookSecret, apiUrl, log }: Settings): StripeService {
  const { protocol, hostname, port } = new URL(apiUrl);
  const stripe = new Stripe(secretKey, {
    host: hostname,
    port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
    protocol: protocol === 'http:' ? 'http' : 'https',
    timeout: TIMEOUT_MS,
    // A retry is safe, because both attempts have the same idempotency key.
    maxNetworkRetries: 1,
    telemetry: false,
    httpClient: createStripeHttp(),
  });

  /** Logs a failed request to Stripe. Only the message is logged, because the error contains Stripe's whole response. */
  function unavailable(error: unknown, what: string, detail: string): ServiceError {
    log.error({ why: error instanceof Error ? error.message : error }, what);
    return new ServiceError('target_failed', { detail, cause: error });
  }

  return {
    async startCheckout({ reference, accountId, email, pack, paidUrl, cancelledUrl }) {
      const { credits, amount, currency } = pack;
      try {
        const { url } = await stripe.checkout.sessions.create(
          {
            mode: 'payment',
            line_items: [packLine(pack)],
            client_reference_id: accountId,
            // Stripe includes the metadata in the event of the payment.
            metadata: { accountId, credits, amount, currency },
            customer_email: email,
            success_url: paidUrl,
            cancel_url: cancelledUrl,
            // Disabled, so that the price and the currency stay as configured.
            adaptive_pricing: { enabled: false },
          },
          { idempotencyKey: `${accountId}:${reference}:${credits}` },
        );
        if (url === null || !url.startsWith('https://')) throw new Error('Stripe returned no https URL');
        return url;
      } catch (error) {
        const detail = 'The payment service is unavailable. Nothing was paid. Try again later.';
        throw unavailable(error, 'a checkout could not be started', detail);
      }
    },

    async chargeToken({ token, reference, challengeId, accountId, credits, amount, currency }) {
      // Not in the types of the package, because it is a preview.
      const preview = { shared_payment_granted_token: token };
      const metadata = { accountId, credits, amount, currency, topUp: challengeId };
      const detail =
        'The payment service does not answer, so it is not known whether the payment succeeded. Repeat the request with the same credential: it is paid once.';
      try {
        const intent = await stripe.paymentIntents.create(
          {
            amount,
            currency: currency.toLowerCase(),
            confirm: true,
            description: creditsOf(credits),
            // A program cannot follow a redirect.
            automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
            metadata,
            ...preview,
          },
          { apiVersion: TOKEN_VERSION, idempotencyKey: reference },
        );
        const { id: paymentId, status, livemode } = intent;
        if (status === 'succeeded') return { state: 'paid', paymentId, isTest: !livemode };
        if (status === 'processing') throw new Error('the payment is processing');
        // For example because the bank asks the buyer to confirm it, which no program can do.
        await stripe.paymentIntents.cancel(paymentId);
        return { state: 'refused', reason: 'the bank asks the buyer to confirm it.' };
      } catch (error) {
        // Messages of Stripe can quote the token.
        const {
          type = null,
          code = null,
          statusCode = null,
        } = error instanceof Stripe.errors.StripeError ? error : {};
        const line = { challengeId, accountId, type, code, statusCode };
        // Also with 400: the first request with the key may have paid, and a new version may send other parameters.
        const isRepeated = error instanceof Stripe.errors.StripeIdempotencyError;
        if (REFUSED.includes(statusCode) && !isRepeated) {
          log.warn(line, 'a payment by a program was refused');
          return { state: 'refused', reason: 'Stripe does not accept the payment token.' };
        }
        log.error(line, 'a payment by a program has an unknown outcome');
        throw new ServiceError('tool_unavailable', { detail });
      }
    },

    async startCardSetup({ reference, accountId, email, currency, customerId, savedUrl, cancelledUrl }) {
      try {
        const customer =
          customerId ??
          (
            await stripe.customers.create(
              { email, metadata: { accountId } },
              { idempotencyKey: `customer:${accountId}:${reference}` },
            )
          ).id;
        const { url } = await stripe.checkout.sessions.create(
          {
            mode: 'setup',
            currency: currency.toLowerCase(),
            customer,
            client_reference_id: accountId,
            // Stripe includes the metadata in the event of the setup.
            metadata: { accountId, autoTopUp: reference },
            success_url: savedUrl,
            cancel_url: cancelledUrl,
          },
          { idempotencyKey: `setup:${accountId}:${reference}` },
        );
        if (url === null || !url.startsWith('https://')) throw new Error('Stripe returned no https URL');
        return url;
      } catch (error) {
        const detail = 'The payment service is unavailable, so no card was saved. Try again later.';
        throw unavailable(error, 'the setup of a card could not be started', detail);
      }
    },

    async savedCard(setupIntentId) {
      const { customer, payment_method } = await stripe.setupIntents.retrieve(setupIntentId);
      const [customerId, paymentMethodId] = [customer, payment_method].map((it) =>
        typeof it === 'string' ? it : it?.id,
      );
      if (customerId === undefined || paymentMethodId === undefined)
        throw new Error(`the setup ${setupIntentId} has no card of a customer`);
      return { customerId, paymentMethodId };
    },

    charge: (charge) => chargeCard(stripe, charge),

    async receiptUrl(paymentId) {
      let url: string | null = null;
      try {
        // Failed attempts to pay are charges as well.
        const charges = await stripe.charges.list({ payment_intent: paymentId, limit: 10 });
        url = charges.data.find(({ paid }) => paid)?.receipt_url ?? null;
      } catch (error) {
        const detail =
          'The payment service is unavailable, so its receipt cannot be shown now. Try again later.';
        throw unavailable(error, 'a receipt could not be read', detail);
      }
      if (url === null || !url.startsWith('https://'))
        throw new ServiceError('not_found', { detail: 'Stripe has no receipt for this payment.' });
      return url;
    },

    readEvent(body, signature) {
      try {
        return stripe.webhooks.constructEvent(body, signature, webhookSecret, TOLERANCE_S);
      } catch (error) {
        throw new ServiceError('invalid_header', {
          detail: 'The Stripe-Signature header is missing, too old, or does not match the body.',
          cause: error,
        });
      }
    },
  };
}
