import type { RateLimit } from '../../schemas/env.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { takeToken } from '../../store/buckets.ts';
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
    const [ofAccount, ofKey] = await Promise.all([
      takeToken(store, `account:${account._id}`, limit),
      key === null ? null : takeToken(store, `key:${key._id}`, limit),
    ]);
    const window = Math.ceil(limit.burst / limit.rate);
    ctx.set('RateLimit-Policy', `"account";q=${limit.burst};w=${window}`);
    ctx.set('RateLimit', `"account";r=${ofAccount.remaining};t=${ofAccount.resetSeconds}`);
    if (!ofAccount.allowed || ofKey?.allowed === false)
      throw new ServiceError('rate_limited', {
        retryAfter: Math.max(ofAccount.retryAfterSeconds, ofKey?.retryAfterSeconds ?? 0),
      });
  };
}
