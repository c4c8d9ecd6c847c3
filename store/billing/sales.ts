import type { Store } from '../mongo/mongo.ts';
import { firstDay } from './usage.ts';

/** Payments of a day in one currency. Amounts are in hundredths of the currency unit. */
export interface DaySales {
  /** ISO 4217 code in upper case. */
  currency: string;
  purchases: number;
  /** Prices of the purchases. */
  revenue: number;
  /** The part of the revenue that was paid back so far, or was lost or is withheld in disputes. */
  lost: number;
}

/** New accounts and purchases of a day. */
export interface SalesDay {
  /** Midnight UTC. */
  day: Date;
  signUps: number;
  /** By currency; without payments in test mode. */
  sales: readonly DaySales[];
}

const DAY_MS = 86_400_000;

/** Amounts of a payment in disputes that withhold money, added to its refunds, at most its price. */
const LOST = {
  $min: [
    '$amount',
    {
      $add: [
        '$refunded',
        {
          $sum: {
            $map: {
              input: {
                $filter: { input: '$disputes', cond: { $in: ['$$this.stage', ['open', 'lost']] } },
              },
              in: '$$this.amount',
            },
          },
        },
      ],
    },
  ],
};

/**
 * Returns the sign-ups and purchases of the last days, oldest first; days without any have zeros. Refunds and disputes count on the
 * day of the purchase.
 *
 * @param days number of UTC days, of which today is the last
 */
export async function salesOf({ accounts, payments }: Store, days: number, now: Date): Promise<SalesDay[]> {
  const from = firstDay(now, days);
  const dayOf = (field: string) => ({ $dateTrunc: { date: field, unit: 'day' } });
  const [opened, paid] = await Promise.all([
    accounts
      .aggregate<{ _id: Date; signUps: number }>([
        { $match: { createdAt: { $gte: from } } },
        { $group: { _id: dayOf('$createdAt'), signUps: { $sum: 1 } } },
      ])
      .toArray(),
    payments
      .aggregate<Omit<DaySales, 'currency'> & { _id: { day: Date; currency: string } }>([
        { $match: { paidAt: { $gte: from }, test: false } },
        {
          $group: {
            _id: { day: dayOf('$paidAt'), currency: '$currency' },
            purchases: { $sum: 1 },
            revenue: { $sum: '$amount' },
            lost: { $sum: LOST },
          },
        },
        { $sort: { '_id.currency': 1 } },
      ])
      .toArray(),
  ]);
  const signUps = new Map(opened.map((row) => [row._id.getTime(), row.signUps]));
  return Array.from({ length: days }, (_, index) => {
    const day = new Date(from.getTime() + index * DAY_MS);
    const sales = paid
      .filter(({ _id }) => _id.day.getTime() === day.getTime())
      .map(({ _id, ...sums }) => ({ currency: _id.currency, ...sums }));
    return { day, signUps: signUps.get(day.getTime()) ?? 0, sales };
  });
}
