import type { Document } from 'mongodb';
import type { AccountDoc } from '../accounts/accountDocs.ts';

/** The invariant of an account's credits, as an expression: nothing is negative, and no more is reserved than there is. */
const IS_SOUND: Document = { $and: [{ $gte: ['$reserved', 0] }, { $gte: ['$balance', '$reserved'] }] };

/**
 * Makes an update pipeline of an account fail if it breaks the invariant: an error in this program then changes no credits.
 * The invariant is part of the update, so that it costs no further command. An account that broke it before is not checked,
 * so that its holds can still end.
 */
export const checked = (stages: readonly Document[]): Document[] => [
  { $set: { wasSound: IS_SOUND } },
  ...stages,
  // MongoDB has no operator for failing. The id of an account is no number, and the error quotes it.
  {
    $set: {
      balance: { $cond: [{ $or: [{ $not: ['$wasSound'] }, IS_SOUND] }, '$balance', { $toInt: '$_id' }] },
    },
  },
  { $unset: 'wasSound' },
];

/** Asserts the invariant, in a transaction that changes credits. @throws Error, which aborts the transaction */
export function assertSound({
  _id,
  balance,
  reserved,
  shortfall,
}: Pick<AccountDoc, '_id' | 'balance' | 'reserved' | 'shortfall'>): void {
  if (reserved < 0 || balance < reserved || shortfall < 0)
    throw new Error(`account ${_id}: balance ${balance}, reserved ${reserved}, shortfall ${shortfall}`);
}
