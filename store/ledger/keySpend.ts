import type { Document } from 'mongodb';
import { creditsOf } from '../../schemas/callErrors.ts';
import type { Account, KeySpend } from '../accounts/accountDocs.ts';
import type { ApiKeyDoc, KeyLimits } from '../keys/keyDocs.ts';

/** An aggregation expression: an object, or a path such as `$field`. */
type Expression = Document | string;

/** The API key of a call and its budgets in credits; null: not limited. */
export interface KeyBudget extends Pick<KeyLimits, 'dailyBudget' | 'monthlyBudget'> {
  id: string;
}

/** The budgets of a key. */
export const budgetOf = ({
  _id: id,
  dailyBudget = null,
  monthlyBudget = null,
}: Pick<ApiKeyDoc, '_id' | 'dailyBudget' | 'monthlyBudget'>): KeyBudget => ({
  id,
  dailyBudget,
  monthlyBudget,
});

/** A budget that a call would exceed. */
export interface ExceededBudget {
  period: 'day' | 'month';
  /** Credits of the budget. */
  credits: number;
  /** Credits reserved or charged in the period so far. */
  spent: number;
  /** When the next period begins; ISO 8601. */
  resetsAt: string;
}

/** The field of an account's document with the spend of a key. Ids of keys contain neither `.` nor `$`. */
export const spendField = (keyId: string): string => `keySpend.${keyId}`;

/**
 * The period to which a new reservation counts, in aggregation expressions: the current day and month, or those of the
 * stored spend if they are later. MongoDB's clock can go back when another server of the replica set becomes the primary;
 * the spend of the later period must not be lost then.
 */
function periodExpression(keyId: string, now: Expression): { day: Document; month: Document } {
  const latest = (unit: 'day' | 'month'): Document => ({
    $max: [`$${spendField(keyId)}.${unit}`, { $dateTrunc: { date: now, unit } }],
  });
  return { day: latest('day'), month: latest('month') };
}

/**
 * The conditions and changes of a reservation for a call with an API key, as parts of a step (`Step`).
 *
 * @param price credits of the call
 * @param now expression for the current time
 */
export function reserveSpend({ id, dailyBudget, monthlyBudget }: KeyBudget, price: number, now: Expression) {
  const field = `$${spendField(id)}`;
  const { day, month } = periodExpression(id, now);
  const inDay = { $add: [{ $cond: [{ $eq: [`${field}.day`, day] }, `${field}.inDay`, 0] }, price] };
  const inMonth = { $add: [{ $cond: [{ $eq: [`${field}.month`, month] }, `${field}.inMonth`, 0] }, price] };
  return {
    when: [
      ...(dailyBudget === null ? [] : [{ $lte: [inDay, dailyBudget] }]),
      ...(monthlyBudget === null ? [] : [{ $lte: [inMonth, monthlyBudget] }]),
    ],
    set: { [spendField(id)]: { day, inDay, month, inMonth } },
    period: { keyId: { $literal: id }, day, month },
  };
}

/**
 * The spend of all keys of an account after credits were given back, as an expression. Credits of a day or month that is
 * no longer the latest one change nothing.
 *
 * @param period expression for the `SpendPeriod` of the credits; it may be missing
 * @param credits expression for the credits
 */
export const releaseSpend = (period: Expression, credits: Expression | number): Document => ({
  $let: {
    vars: { period },
    in: {
      $arrayToObject: {
        $map: {
          input: { $objectToArray: { $ifNull: ['$keySpend', { $literal: {} }] } },
          as: 'key',
          in: {
            k: '$$key.k',
            v: {
              $cond: [
                { $eq: ['$$key.k', '$$period.keyId'] },
                {
                  day: '$$key.v.day',
                  inDay: {
                    $subtract: [
                      '$$key.v.inDay',
                      { $cond: [{ $eq: ['$$key.v.day', '$$period.day'] }, credits, 0] },
                    ],
                  },
                  month: '$$key.v.month',
                  inMonth: {
                    $subtract: [
                      '$$key.v.inMonth',
                      { $cond: [{ $eq: ['$$key.v.month', '$$period.month'] }, credits, 0] },
                    ],
                  },
                },
                '$$key.v',
              ],
            },
          },
        },
      },
    },
  },
});

/** The spend of only those keys of an account, as an expression. */
export const keepSpend = (keyIds: readonly string[]): Document => ({
  $arrayToObject: {
    $filter: {
      input: { $objectToArray: { $ifNull: ['$keySpend', { $literal: {} }] } },
      as: 'key',
      cond: { $in: ['$$key.k', { $literal: keyIds }] },
    },
  },
});

const dayOf = (time: Date): Date =>
  new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate()));
const monthOf = (time: Date): Date => new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth()));
const later = (a: Date, b: Date): Date => (a > b ? a : b);

/** Credits that a key has spent in the day and in the month of `now`. */
export function spentOf(spend: KeySpend | undefined, now: Date): { inDay: number; inMonth: number } {
  if (spend === undefined) return { inDay: 0, inMonth: 0 };
  // A stored period can be later than this clock, which may be behind that of MongoDB.
  return {
    inDay: spend.day >= dayOf(now) ? spend.inDay : 0,
    inMonth: spend.month >= monthOf(now) ? spend.inMonth : 0,
  };
}

/** Returns the budget of the key that a call would exceed, or null. If it would exceed both, the monthly one. */
export function exceededBudget(
  { id, dailyBudget, monthlyBudget }: KeyBudget,
  keySpend: Account['keySpend'],
  price: number,
  now: Date,
): ExceededBudget | null {
  const spend = keySpend?.[id];
  const { inDay, inMonth } = spentOf(spend, now);
  if (monthlyBudget !== null && inMonth + price > monthlyBudget) {
    const month = later(monthOf(now), spend?.month ?? monthOf(now));
    const resetsAt = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1)).toISOString();
    return { period: 'month', credits: monthlyBudget, spent: inMonth, resetsAt };
  }
  if (dailyBudget !== null && inDay + price > dailyBudget) {
    const day = later(dayOf(now), spend?.day ?? dayOf(now));
    const resetsAt = new Date(day.getTime() + 86_400_000).toISOString();
    return { period: 'day', credits: dailyBudget, spent: inDay, resetsAt };
  }
  return null;
}

/** The public text of the error that refuses a call with this price. */
export const describeBudget = ({ period, credits, spent, resetsAt }: ExceededBudget, price: number): string =>
  `This call costs ${creditsOf(price)}. The API key has spent ${spent} of its budget of ${creditsOf(credits)} per ${period}, which resets at ${resetsAt}. Nothing was charged.`;
