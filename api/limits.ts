import type { RateLimit } from '../schemas/envValues.ts';
import { type TokenResult, takeToken } from '../store/keys/buckets.ts';
import type { Store } from '../store/mongo/mongo.ts';
import { type CountChange, createChangeLimit } from './account/changeLimit.ts';
import { type AttemptLimit, createAttemptLimit } from './auth/attemptLimit.ts';
import type { FailureLimit } from './auth/authenticate.ts';
import { createFailureLimit } from './auth/failureLimit.ts';
import { createPageLimit, type PageLimit } from './http/pageLimit.ts';
import { createRateLimit, type TakeTokens } from './http/rateLimit.ts';

/** The limits that several areas share. */
export interface Limits {
  /** Of the requests of an account and of a key. */
  rateLimit: TakeTokens;
  /** Takes a token from a bucket that all API processes share; null if limits are off. */
  takeToken: ((bucket: string, limit: RateLimit) => Promise<TokenResult>) | null;
  /** Of requests without a key. */
  pageLimit: PageLimit;
  /** Of failed authentications of a client address. */
  onFailure: FailureLimit;
  /** Of sign-ins, sign-ups and emails. */
  attempts: AttemptLimit;
  /** Of changes of an account. */
  countChange: CountChange;
}

/** @param limit that of an account; null disables all limits */
export const createLimits = (store: Store, limit: RateLimit | null): Limits => ({
  rateLimit: createRateLimit(store, limit),
  takeToken: limit === null ? null : (bucket, of) => takeToken(store, bucket, of),
  pageLimit: createPageLimit(limit),
  onFailure: createFailureLimit(store, limit),
  attempts: createAttemptLimit(store, limit),
  countChange: createChangeLimit(store, limit),
});
