import type Router from '@koa/router';
import type { Logger } from 'pino';
import { ServiceError } from '../../schemas/errors.ts';
import type { Payments } from '../../store/billing/payments.ts';
import type { TopUpRuns } from '../../store/billing/topUpRuns.ts';
import type { TopUps } from '../../store/billing/topUps.ts';
import { readBytes } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import { challengeOf, readCardSetup, readReport } from './stripeEvents.ts';
import type { StripeService } from './stripeService.ts';

interface Dependencies {
  stripe: StripeService;
  payments: Payments;
  topUps: Pick<TopUps, 'complete'>;
  topUpRuns: Pick<TopUpRuns, 'cardSaved'>;
  log: Logger;
}

/**
 * Maximum size of a request body in bytes; several times the size of the largest event to which the service
 * subscribes.
 */
const EVENT_BYTES = 262_144;

/**
 * Registers the endpoint that receives Stripe events. A response of 200 stops Stripe's retries. It is also returned
 * for events of other purchases, and for payments that cannot be recorded, which are logged for the operator. Stripe
 * retries after any other response for days.
 */
export function stripeRoutes(
  router: Router<State>,
  { stripe, payments, topUps, topUpRuns, log }: Dependencies,
): void {
  router.post('/stripe/webhook', async (ctx: Context) => {
    const event = stripe.readEvent(await readBytes(ctx, EVENT_BYTES), ctx.get('Stripe-Signature'));
    const logUnbookable = (why: string) =>
      log.error({ event: event.id, type: event.type, why }, 'a payment cannot be booked');
    ctx.body = { received: true };
    const setup = readCardSetup(event);
    if (setup !== null) {
      const { accountId, reference, setupIntentId } = setup;
      return topUpRuns.cardSaved(accountId, reference, await stripe.savedCard(setupIntentId));
    }
    const report = readReport(event);
    if (report === null) return;
    if (typeof report === 'string') return logUnbookable(report);
    try {
      const recorded = await payments.record(report);
      if (recorded.status === 'mismatch') logUnbookable('it contradicts an earlier event of the payment');
      const challengeId = challengeOf(event);
      if (recorded.status === 'recorded' && challengeId !== null)
        await topUps.complete(challengeId, report.paymentId);
      if (recorded.status === 'recorded' && recorded.refundDue)
        log.error(
          { event: event.id, payment: report.paymentId, account: recorded.accountId },
          'a payment reached a closed account; refund it at Stripe',
        );
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
      logUnbookable('the account does not exist');
    }
  });
}
