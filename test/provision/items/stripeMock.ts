import { goProgram } from '../goProgram.ts';

/** Stripe's own mock server, https://github.com/stripe/stripe-mock. */
export const stripeMock = goProgram({
  name: 'stripe-mock',
  source: 'github.com/stripe/stripe-mock@v0.203.0',
  usually: 30,
});
