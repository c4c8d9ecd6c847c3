import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { returnToken, takeToken } from '../../store/buckets.ts';
import type { Store } from '../../store/mongo.ts';
import type { Context } from '../context.ts';

/**
 * Takes a token from the account's bucket and one from the key's, and says in the headers of
 * draft-ietf-httpapi-ratelimit-headers what is left of the account's. @throws ServiceError rate_limited
 */
export function createRateLimit(store: Store, limit: RateLimit | null) {
  return async (ctx: Context): Promise<void> => {
    if (limit === null) return;
    const { account, key } = ctx.state.caller;
    const accountBucket = `account:${account._id}`;
    const ofAccount = await takeToken(store, accountBucket, limit);
    const window = Math.ceil(limit.burst / limit.rate);
    ctx.set('RateLimit-Policy', `"account";q=${limit.burst};w=${window}`);
    ctx.set('RateLimit', `"account";r=${ofAccount.remaining};t=${ofAccount.resetSeconds}`);
    if (!ofAccount.allowed)
      throw new ServiceError('rate_limited', { retryAfter: ofAccount.retryAfterSeconds });
    if (key === null) return;
    // One after the other, and given back: two buckets that many calls drain at once would each let others pass.
    const ofKey = await takeToken(store, `key:${key._id}`, limit);
    if (ofKey.allowed) return;
    await returnToken(store, accountBucket);
    throw new ServiceError('rate_limited', { retryAfter: ofKey.retryAfterSeconds });
  };
}
