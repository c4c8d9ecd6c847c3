import type Router from '@koa/router';
import { createPayments } from '../../store/billing/payments.ts';
import { createTopUps } from '../../store/billing/topUps.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { createTopUpService } from '../topUps/topUpService.ts';
import { limitPayments } from './limitPayments.ts';
import { openStripe } from './openStripe.ts';
import { stripeRoutes } from './stripeRoutes.ts';

/**
 * Creates the sale of credits. `stripe` is null if Stripe is not configured, `topUpService` if programs cannot buy credits, and
 * `packs` are those on sale.
 */
export async function createBillingArea(core: ApiCore) {
  const { env, log, store, accounts, keyring, limits, publicUrl } = core;
  const payments = createPayments(store, accounts);
  const topUps = createTopUps(store);
  const stripe = await openStripe(env, log);
  const { STRIPE_NETWORK_ID: networkId } = env;
  return {
    payments,
    topUps,
    stripe,
    topUpService:
      stripe === null || networkId === null
        ? null
        : createTopUpService({
            topUps,
            payments,
            findEntry: (accountId, reference) =>
              store.entries.findOne({ accountId, type: 'purchase', reference }),
            stripe,
            limitPayments: (accountId) => limitPayments(limits, accountId),
            keyring,
            packs: env.CREDIT_PACKS,
            networkId,
            publicUrl,
          }),
    // Without Stripe, production sells nothing: test payments would give free credits to everyone.
    packs: stripe === null && env.NODE_ENV === 'production' ? [] : env.CREDIT_PACKS,
    routes(router: Router<State>) {
      if (stripe !== null) stripeRoutes(router, { stripe, payments, topUps, log });
    },
  };
}
