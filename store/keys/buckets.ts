import type { RateLimit } from '../../schemas/envValues.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';

export interface TokenResult {
  allowed: boolean;
  /** Whole tokens left. */
  remaining: number;
  /** Seconds until the bucket is full again. */
  resetSeconds: number;
  /** Seconds until one token is available; 0 if allowed. */
  retryAfterSeconds: number;
}

/**
 * Takes one token from the bucket `id` in one atomic update that uses the clock of the database server, so that all
 * API processes share the bucket. The write is not journalled: a crash of the database may give back a few tokens.
 */
export async function takeToken({ buckets }: Store, id: string, limit: RateLimit): Promise<TokenResult> {
  const elapsed = { $divide: [{ $max: [0, { $subtract: ['$$NOW', { $ifNull: ['$at', '$$NOW'] }] }] }, 1000] };
  const filled = {
    $min: [
      limit.burst,
      { $add: [{ $ifNull: ['$tokens', limit.burst] }, { $multiply: [elapsed, limit.rate] }] },
    ],
  };
  const step = [
    { $set: { tokens: filled, at: '$$NOW' } },
    { $set: { taken: { $gte: ['$tokens', 1] } } },
    { $set: { tokens: { $cond: ['$taken', { $subtract: ['$tokens', 1] }, '$tokens'] } } },
  ];
  const take = () =>
    buckets.findOneAndUpdate({ _id: id }, step, {
      upsert: true,
      returnDocument: 'after',
      writeConcern: { w: 1, journal: false },
    });
  // Of several concurrent first calls only one inserts the bucket; the others repeat the update.
  const bucket = await take().catch((error: unknown) => {
    if (isDuplicate(error)) return take();
    throw error;
  });
  const tokens = bucket?.tokens ?? 0;
  const allowed = bucket?.taken ?? false;
  return {
    allowed,
    remaining: Math.floor(tokens),
    resetSeconds: Math.ceil((limit.burst - tokens) / limit.rate),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - tokens) / limit.rate)),
  };
}

/** Gives back the token of a call that was refused for a reason other than the rate limit. */
export async function returnToken({ buckets }: Store, id: string): Promise<void> {
  await buckets.updateOne({ _id: id }, { $inc: { tokens: 1 } }, { writeConcern: { w: 1, journal: false } });
}
