import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Pack } from '../../schemas/formats/packs.ts';
import type { Payments } from '../../store/billing/payments.ts';
import type { TopUpPayment, TopUpRunDoc } from '../../store/billing/topUpRunDocs.ts';
import type { TopUpRuns } from '../../store/billing/topUpRuns.ts';
import type { Charge, ChargeResult } from './stripeCharge.ts';

const POLL_INTERVAL_MS = 5000;

/** Takes the payments of top-ups. */
export interface Charger {
  /** Whether it needs a saved card. */
  needsCard: boolean;
  /** Makes the payment of a top-up at most once, however often it is asked. @throws if it is unknown whether it was made */
  charge(charge: Charge): Promise<ChargeResult>;
}

/** Takes no money, like the test checkout. */
export const testCharger: Charger = {
  needsCard: false,
  charge: async ({ topUpId }) => ({ status: 'paid', paymentId: `test_${topUpId}`, test: true }),
};

interface Dependencies {
  topUpRuns: TopUpRuns;
  payments: Pick<Payments, 'record'>;
  charger: Charger;
  /** Packs on sale. */
  packs: readonly Pack[];
  log: Logger;
}

/**
 * Advances one crossing: decides, pays, books the credits. Each step can be repeated by any process: the decision is stored before
 * the payment, the payment is identified by the crossing, and a payment is booked once by its id.
 *
 * @returns false if none was due
 */
export async function runNextTopUp({
  topUpRuns,
  payments,
  charger,
  packs,
  log,
}: Dependencies): Promise<boolean> {
  const claimed = await topUpRuns.claim();
  if (claimed === null) return false;

  async function pay(topUp: TopUpRunDoc, payment: TopUpPayment): Promise<void> {
    const { _id: topUpId, accountId, paymentId: knownId } = topUp;
    const isWanted = (await topUpRuns.settings(accountId))?.state === 'on';
    const result = await charger.charge({ topUpId, accountId, payment, paymentId: knownId, isWanted });
    if (result.status === 'unwanted') return topUpRuns.skip(topUp);
    if (result.status === 'processing') return topUpRuns.postpone(topUp, result.paymentId);
    if (result.status === 'failed') return topUpRuns.failed(topUp, result.reason);
    const { credits, amount, currency } = payment.pack;
    const { paymentId, test } = result;
    const fact = { kind: 'paid', accountId, credits, amount, test } as const;
    const { status } = await payments.record({ paymentId, source: topUpId, currency, fact });
    if (status === 'mismatch')
      log.error({ payment: paymentId, accountId }, 'the payment of a top-up contradicts an earlier event');
    await topUpRuns.paid(topUp, paymentId);
  }

  try {
    const topUp = await topUpRuns.decide(claimed, packs, charger.needsCard);
    if (topUp.state === 'charging' && topUp.payment !== undefined) await pay(topUp, topUp.payment);
  } catch (error) {
    // Only the message, because errors of Stripe contain its whole response.
    const why = error instanceof Error ? error.message : error;
    log.warn({ why, topUp: claimed._id }, 'an automatic top-up has no result yet; trying again later');
    await topUpRuns.postpone(claimed);
  }
  return true;
}

/** Advances due crossings until `stop` is called. All API processes share the work. */
export function startTopUps(dependencies: Dependencies): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const { signal } = stopped;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        while (!signal.aborted && (await runNextTopUp(dependencies)));
      } catch (error) {
        dependencies.log.warn({ err: error }, 'could not process automatic top-ups; retrying');
      }
      await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined); // rejects when `stop` aborts it
    }
  }
  const running = run();

  return {
    async stop() {
      stopped.abort();
      await running;
    },
  };
}
