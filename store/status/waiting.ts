import { ABANDONED, isRefundDue } from '../ledger/paybacks.ts';
import type { Store } from '../mongo/mongo.ts';

/** Pending refunds and deliveries, for the metrics. Ages are in seconds; 0 if nothing is pending. */
export interface Waiting {
  oldestHoldSeconds: number;
  /** Charged calls whose price has not been returned yet. */
  refundsOwed: number;
  oldestRefundSeconds: number;
  /**
   * Age of the oldest overdue delivery. Endpoints whose last attempt failed are left out, because they are retried at
   * growing intervals.
   */
  oldestDeliverySeconds: number;
  disabledEndpoints: number;
  /** Payments to closed accounts that operators have not refunded yet. */
  paymentsToRefund: number;
}

const secondsSince = (at: Date | null | undefined): number =>
  at == null ? 0 : Math.max(0, (Date.now() - at.getTime()) / 1000);

async function oldestHold({ accounts }: Store): Promise<Date | undefined> {
  const [oldest] = await accounts
    .aggregate<{ at: Date }>([
      { $match: { reserved: { $gt: 0 } } },
      { $project: { holds: { $objectToArray: '$holds' } } },
      { $unwind: '$holds' },
      { $group: { _id: null, at: { $min: '$holds.v.at' } } },
    ])
    .toArray();
  return oldest?.at;
}

async function oldestDelivery({ deliveries, webhookEndpoints }: Store): Promise<Date | null | undefined> {
  const failing = await webhookEndpoints
    .find({ state: 'active', failures: { $gt: 0 } }, { projection: { _id: 1 } })
    .toArray();
  const endpointId = { $nin: failing.map(({ _id }) => _id) };
  const oldest = await deliveries.findOne(
    { state: 'pending', nextAt: { $lt: new Date() }, endpointId },
    { sort: { nextAt: 1 }, projection: { nextAt: 1 } },
  );
  return oldest?.nextAt;
}

/** Reads how many refunds and deliveries are pending, and the age of the oldest. */
export async function findWaiting(store: Store): Promise<Waiting> {
  const [hold, delivery, disabledEndpoints, paymentsToRefund, abandoned] = await Promise.all([
    oldestHold(store),
    oldestDelivery(store),
    store.webhookEndpoints.countDocuments({ state: 'disabled' }),
    store.payments.countDocuments({ refundDue: true }),
    store.calls.find({ ...ABANDONED, state: 'charged' }).toArray(),
  ]);
  const owed = abandoned.filter(isRefundDue);
  return {
    oldestHoldSeconds: secondsSince(hold),
    refundsOwed: owed.length,
    oldestRefundSeconds: Math.max(0, ...owed.map(({ finishedAt }) => secondsSince(finishedAt))),
    oldestDeliverySeconds: secondsSince(delivery),
    disabledEndpoints,
    paymentsToRefund,
  };
}
