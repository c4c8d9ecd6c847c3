import type Router from '@koa/router';
import { createInvoices } from '../../store/billing/invoices.ts';
import { createPayments } from '../../store/billing/payments.ts';
import { createTopUpRuns } from '../../store/billing/topUpRuns.ts';
import { createTopUps } from '../../store/billing/topUps.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { createTopUpService } from '../topUps/topUpService.ts';
import { invoiceTermsOf } from './invoice.ts';
import { limitPayments } from './limitPayments.ts';
import { openStripe } from './openStripe.ts';
import { stripeRoutes } from './stripeRoutes.ts';
import { type Charger, startTopUps, testCharger } from './topUpRuns.ts';

/**
 * Creates the sale of credits. `stripe` is null if Stripe is not configured, `topUpService` if programs cannot buy credits, and
 * `packs` are those on sale.
 */
export async function createBillingArea(core: ApiCore) {
  const { env, log, open, store, accounts, keyring, limits, publicUrl } = core;
  const terms = invoiceTermsOf(env);
  const payments = createPayments(store, accounts, terms);
  const topUps = createTopUps(store);
  const topUpRuns = createTopUpRuns(store);
  const stripe = await openStripe(env, log);
  const { STRIPE_NETWORK_ID: networkId } = env;
  // Without Stripe, production sells nothing: test payments would give free credits to everyone.
  const packs = stripe === null && env.NODE_ENV === 'production' ? [] : env.CREDIT_PACKS;
  const charger: Charger =
    stripe === null ? testCharger : { needsCard: true, charge: (charge) => stripe.charge(charge) };
  return {
    payments,
    invoices: createInvoices(store),
    issuesInvoices: terms !== null,
    topUps,
    topUpRuns,
    stripe,
    topUpService:
      stripe === null || networkId === null
        ? null
        : createTopUpService({
            topUps,
            payments,
            findEntry: (accountId, reference) =>
              store.entries.findOne({ accountId, type: 'purchase', reference }, { sort: { seq: -1 } }),
            stripe,
            limitPayments: (accountId) => limitPayments(limits, accountId),
            keyring,
            packs: env.CREDIT_PACKS,
            networkId,
            publicUrl,
          }),
    packs,
    routes(router: Router<State>) {
      if (stripe !== null) stripeRoutes(router, { stripe, payments, topUps, topUpRuns, log });
    },
    /** Starts to make automatic top-ups. */
    start: () =>
      void open.adopt(startTopUps({ topUpRuns, payments, charger, packs, log }), (it) => it.stop()),
  };
}
