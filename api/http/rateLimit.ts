import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { returnToken, takeToken } from '../../store/buckets.ts';
import type { Store } from '../../store/mongo.ts';
import type { Context } from './context.ts';

/**
 * Takes a token from the buckets of the account and of the key, and reports the account's quota in the headers of
 * draft-ietf-httpapi-ratelimit-headers.
 *
 * @param authorize throws if the request is not permitted; its error takes precedence, and the token is spent all the same
 * @throws the error of `authorize`; ServiceError rate_limited
 */
export type TakeTokens = (ctx: Context, authorize?: () => void) => Promise<void>;

export function createRateLimit(store: Store, limit: RateLimit | null): TakeTokens {
  const refusal = (retryAfter: number) => new ServiceError('rate_limited', { retryAfter });

  async function take(ctx: Context): Promise<ServiceError | null> {
    if (limit === null) return null;
    const { account, key } = ctx.state.caller;
    const accountBucket = `account:${account._id}`;
    const ofAccount = await takeToken(store, accountBucket, limit);
    const window = Math.ceil(limit.burst / limit.rate);
    ctx.set('RateLimit-Policy', `"account";q=${limit.burst};w=${window}`);
    ctx.set('RateLimit', `"account";r=${ofAccount.remaining};t=${ofAccount.resetSeconds}`);
    if (!ofAccount.allowed) return refusal(ofAccount.retryAfterSeconds);
    if (key === null) return null;
    // Sequential, with the account's token returned on refusal: concurrent requests could otherwise drain one bucket
    // while the other one refuses them.
    const ofKey = await takeToken(store, `key:${key._id}`, limit);
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
