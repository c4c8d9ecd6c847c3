import type Router from '@koa/router';
import { createPayments } from '../../store/billing/payments.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { openStripe } from './openStripe.ts';
import { stripeRoutes } from './stripeRoutes.ts';

/** Creates the sale of credits. `stripe` is null if Stripe is not configured, and `packs` are those on sale. */
export async function createBillingArea({ env, log, store, accounts }: ApiCore) {
  const payments = createPayments(store, accounts);
  const stripe = await openStripe(env, log);
  return {
    payments,
    stripe,
    // Without Stripe, production sells nothing: test payments would give free credits to everyone.
    packs: stripe === null && env.NODE_ENV === 'production' ? [] : env.CREDIT_PACKS,
    routes(router: Router<State>) {
      if (stripe !== null) stripeRoutes(router, { stripe, payments, log });
    },
  };
}
