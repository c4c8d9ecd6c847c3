import type Router from '@koa/router';
import type { StripeService } from '../billing/stripeService.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { operatorOf } from '../operator.ts';
import { siteRoutes } from './siteRoutes.ts';

/** Creates the landing page and the documentation. */
export const createSiteArea = (
  { env, registry, publicUrl }: ApiCore,
  { stripe }: { stripe: StripeService | null },
) => ({
  routes: (router: Router<State>) =>
    siteRoutes(router, {
      registry,
      baseUrl: publicUrl,
      freeCredits: env.FREE_CREDITS,
      // Without Stripe, production sells nothing.
      packs: stripe === null && env.NODE_ENV === 'production' ? [] : env.CREDIT_PACKS,
      operator: operatorOf(env),
      hasTrials: env.TRIAL_CREDITS > 0,
    }),
});
