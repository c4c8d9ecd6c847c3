import type { Logger } from 'pino';
import Stripe from 'stripe';
import { ServiceError } from '../../schemas/errors.ts';
import type { Pack } from '../../schemas/formats/packs.ts';

/** Somebody wants to buy. */
export interface Order {
  /** The same one and the same pack are one checkout, however often it is asked for. */
  reference: string;
  accountId: string;
  email: string;
  pack: Pack;
  /** Where the buyer comes back to. */
  paidUrl: string;
  cancelledUrl: string;
}

/** What is used of Stripe. */
export interface StripeService {
  /** The address where the order is paid. @throws ServiceError target_failed when Stripe has none for us */
  startCheckout(order: Order): Promise<string>;
  /**
   * What Stripe tells, once its signature has shown that nobody else does, and that it is not an old one sent again.
   *
   * @throws ServiceError invalid_header
   */
  readEvent(body: Buffer, signature: string): Stripe.Event;
}

/** For one attempt; there are two. An owner waits for it with the page of the form before them. */
const TIMEOUT_MS = 10_000;
/** Seconds between Stripe's clock and ours, which Stripe's own libraries allow. */
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
    product_data: { name: `${credits} credits` },
  },
});

export function createStripeService({ secretKey, webhookSecret, apiUrl, log }: Settings): StripeService {
  const { protocol, hostname, port } = new URL(apiUrl);
  const stripe = new Stripe(secretKey, {
    host: hostname,
    port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
    protocol: protocol === 'http:' ? 'http' : 'https',
    timeout: TIMEOUT_MS,
    // A second attempt cannot make a second checkout: both carry the order's own idempotency key.
    maxNetworkRetries: 1,
    telemetry: false,
  });

  return {
    async startCheckout({ reference, accountId, email, pack, paidUrl, cancelledUrl }) {
      const { credits, amount, currency } = pack;
      try {
        const { url } = await stripe.checkout.sessions.create(
          {
            mode: 'payment',
            line_items: [packLine(pack)],
            client_reference_id: accountId,
            // Comes back with the event that says it was paid.
            metadata: { accountId, credits, amount, currency },
            customer_email: email,
            success_url: paidUrl,
            cancel_url: cancelledUrl,
            // The price is what we say, in the currency that we say.
            adaptive_pricing: { enabled: false },
          },
          { idempotencyKey: `${accountId}:${reference}:${credits}` },
        );
        if (url === null || !url.startsWith('https://')) throw new Error('Stripe answered no address');
        return url;
      } catch (error) {
        // Not the error itself, which carries the whole answer.
        log.error({ why: error instanceof Error ? error.message : error }, 'a checkout could not be started');
        throw new ServiceError('target_failed', {
          detail: 'The payment service could not be reached. Nothing was charged; please try again.',
          cause: error,
        });
      }
    },

    readEvent(body, signature) {
      try {
        return stripe.webhooks.constructEvent(body, signature, webhookSecret, TOLERANCE_S);
      } catch (error) {
        throw new ServiceError('invalid_header', {
          detail: 'Stripe-Signature: missing, too old, or not of this body.',
          cause: error,
        });
      }
    },
  };
}
