import type Router from '@koa/router';
import type { Logger } from 'pino';
import { ServiceError } from '../../schemas/errors.ts';
import type { Payments } from '../../store/payments.ts';
import { readBytes } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import type { DispatchEvents } from '../webhooks/startDispatch.ts';
import { reportOf } from './stripeEvents.ts';
import type { StripeService } from './stripeService.ts';

interface Dependencies {
  stripe: StripeService;
  payments: Payments;
  dispatchEvents: DispatchEvents;
  log: Logger;
}

/** Several times the largest event that we ask for. */
const EVENT_BYTES = 262_144;

/**
 * Where Stripe tells what became of payments. 200 means that it need not be told again: also for what is not ours, and
 * for what can never be booked, which is for the operator to look at. Everything else Stripe repeats for days, and may.
 */
export function stripeRoutes(
  router: Router<State>,
  { stripe, payments, dispatchEvents, log }: Dependencies,
): void {
  router.post('/stripe/webhook', async (ctx: Context) => {
    const event = stripe.readEvent(await readBytes(ctx.req, EVENT_BYTES), ctx.get('Stripe-Signature'));
    const unbookable = (why: string) =>
      log.error({ event: event.id, type: event.type, why }, 'a payment cannot be booked');
    ctx.body = { received: true };
    const report = reportOf(event);
    if (report === null) return;
    if (typeof report === 'string') return unbookable(report);
    try {
      const recorded = await payments.record(report);
      if (recorded.status === 'mismatch') unbookable('it was told of before, and differently');
      else if (recorded.accountId !== null) dispatchEvents(recorded.accountId);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
      unbookable('there is no such account');
    }
  });
}
