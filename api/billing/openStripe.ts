import type { Logger } from 'pino';
import type { Env } from '../../schemas/env.ts';
import type { StripeService } from './stripeService.ts';

type Variables = 'STRIPE_SECRET_KEY' | 'STRIPE_WEBHOOK_SECRET' | 'STRIPE_API_URL';

/** Creates the Stripe service; null if its keys are unset. Loads the package on demand, because it takes 30 MB. */
export async function openStripe(env: Pick<Env, Variables>, log: Logger): Promise<StripeService | null> {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret } = env;
  if (secretKey === null || webhookSecret === null) return null;
  const { createStripeService } = await import('./stripeService.ts');
  return createStripeService({ secretKey, webhookSecret, apiUrl: env.STRIPE_API_URL, log });
}
