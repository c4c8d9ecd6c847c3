import type { Logger } from 'pino';
import type { Env } from '../../schemas/env.ts';
import type { StripeService } from './stripeService.ts';

type Variables = 'STRIPE_SECRET_KEY' | 'STRIPE_WEBHOOK_SECRET' | 'STRIPE_API_URL';

/**
 * Creates the Stripe service; returns null if no keys are set. Loads the `stripe` package only if needed, because it
 * takes 30 MB of memory.
 */
export async function openStripe(env: Pick<Env, Variables>, log: Logger): Promise<StripeService | null> {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret } = env;
  if (secretKey === null || webhookSecret === null) return null;
  const { createStripeService } = await import('./stripeService.ts');
  return createStripeService({ secretKey, webhookSecret, apiUrl: env.STRIPE_API_URL, log });
}
