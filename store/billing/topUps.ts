import { monthOf } from '../ledger/allowance.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import type { TopUpDoc } from './topUpDocs.ts';

/** The record of payments by programs, which decides that each challenge is paid at most once and within the ceiling. */
export interface TopUps {
  find(challengeId: string): Promise<TopUpDoc | null>;
  /**
   * Begins a payment: counts its credits in the ceiling of the account's month. Can be repeated. Returns the earlier payment, if
   * one was begun for the challenge; null if it would exceed the ceiling.
   */
  begin(topUp: Pick<TopUpDoc, '_id' | 'accountId' | 'credits' | 'proof'>): Promise<TopUpDoc | null>;
  /** Records that the credits of a payment were granted. Can be repeated. */
  complete(challengeId: string, paymentId: string): Promise<void>;
  /** Records that no money was taken, so that the credits count no more. Can be repeated; no-op unless it is pending. */
  fail(challengeId: string): Promise<void>;
  /** Sets how many credits programs may buy per calendar month (UTC). What they have bought stays counted. */
  setCeiling(accountId: string, credits: number): Promise<void>;
}

const KEPT_MS = 90 * 86_400_000;

class AboveCeiling extends Error {}

export function createTopUps(store: Store): TopUps {
  const { accounts, topUps } = store;
  return {
    find: (challengeId) => topUps.findOne({ _id: challengeId }),

    async begin({ _id, accountId, credits, proof }) {
      const at = new Date();
      const month = monthOf(at);
      const forgetAt = new Date(at.getTime() + KEPT_MS);
      const row: TopUpDoc = {
        _id,
        accountId,
        credits,
        month,
        proof,
        state: 'pending',
        paymentId: null,
        at,
        forgetAt,
      };
      const bought = { $cond: [{ $eq: ['$topUps.month', month] }, '$topUps.credits', 0] };
      const after = { $add: [bought, credits] };
      try {
        return await store.transaction(async (session) => {
          await topUps.insertOne({ ...row }, { session });
          const { matchedCount } = await accounts.updateOne(
            {
              _id: accountId,
              closedAt: { $exists: false },
              topUps: { $exists: true },
              $expr: { $lte: [after, '$topUps.ceiling'] },
            },
            [{ $set: { topUps: { ceiling: '$topUps.ceiling', month, credits: after } } }],
            { session },
          );
          if (matchedCount === 0) throw new AboveCeiling();
          return row;
        });
      } catch (error) {
        if (error instanceof AboveCeiling) return null;
        if (isDuplicate(error)) return topUps.findOne({ _id });
        throw error;
      }
    },

    async complete(challengeId, paymentId) {
      await topUps.updateOne({ _id: challengeId }, { $set: { state: 'paid', paymentId } });
    },

    fail: (challengeId) =>
      store.transaction(async (session) => {
        const row = await topUps.findOneAndUpdate(
          { _id: challengeId, state: 'pending' },
          { $set: { state: 'failed' } },
          { session },
        );
        if (row === null) return;
        await accounts.updateOne(
          { _id: row.accountId, 'topUps.month': row.month },
          { $inc: { 'topUps.credits': -row.credits } },
          { session },
        );
      }),

    async setCeiling(accountId, ceiling) {
      const fresh = { month: monthOf(new Date()), credits: 0 };
      await accounts.updateOne({ _id: accountId }, [
        { $set: { topUps: { $mergeObjects: [fresh, '$topUps', { ceiling }] } } },
      ]);
    },
  };
}
