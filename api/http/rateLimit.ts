import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { returnToken, takeToken } from '../../store/buckets.ts';
import type { Store } from '../../store/mongo.ts';
import { retryStore } from '../../workers/platform/retryUntilAborted.ts';
import type { Context } from './context.ts';

/**
 * Takes a token from the buckets of the account and of the key, and reports the account's quota in the headers
 * `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).
 *
 * @param authorize throws if the request is not permitted. This error takes precedence over rate_limited; the token
 *   is spent in either case
 * @throws the error of `authorize`; ServiceError rate_limited
 */
export type TakeTokens = (ctx: Context, authorize?: () => void) => Promise<void>;

export function createRateLimit(store: Store, limit: RateLimit | null): TakeTokens {
  // Not idempotent: an attempt whose response was lost has taken a token too many.
  const tokenFrom = (bucket: string, limit: RateLimit) => retryStore(() => takeToken(store, bucket, limit));
  const refusal = (retryAfter: number) => new ServiceError('rate_limited', { retryAfter });

  async function take(ctx: Context): Promise<ServiceError | null> {
    if (limit === null) return null;
    const { account, key } = ctx.state.caller;
    const accountBucket = `account:${account._id}`;
    const ofAccount = await tokenFrom(accountBucket, limit);
    const window = Math.ceil(limit.burst / limit.rate);
    ctx.set('RateLimit-Policy', `"account";q=${limit.burst};w=${window}`);
    ctx.set('RateLimit', `"account";r=${ofAccount.remaining};t=${ofAccount.resetSeconds}`);
    if (!ofAccount.allowed) return refusal(ofAccount.retryAfterSeconds);
    if (key === null) return null;
    // The tokens are taken one after the other, and the account's token is given back if the key has none. If both
    // were taken at once, requests that one bucket refuses would use up the tokens of the other.
    const ofKey = await tokenFrom(`key:${key._id}`, limit);
    if (ofKey.allowed) return null;
    await returnToken(store, accountBucket);
    return refusal(ofKey.retryAfterSeconds);
  }

  return async (ctx, authorize = () => undefined) => {
    const limited = await take(ctx);
    authorize();
    if (limited !== null) throw limited;
  };
}
