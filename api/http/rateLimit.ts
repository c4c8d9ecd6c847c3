import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { returnToken, takeToken } from '../../store/buckets.ts';
import type { Store } from '../../store/mongo.ts';
import type { Context } from './context.ts';

/**
 * Takes a token from the account's bucket and one from the key's, and says in the headers of
 * draft-ietf-httpapi-ratelimit-headers what is left of the account's.
 *
 * @param admit raises why the request is refused whatever the limit says: that goes before, and costs a token all the same
 * @throws what `admit` does; ServiceError rate_limited
 */
export type TakeTokens = (ctx: Context, admit?: () => void) => Promise<void>;

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
    // One after the other, and given back: two buckets that many calls drain at once would each let others pass.
    const ofKey = await takeToken(store, `key:${key._id}`, limit);
    if (ofKey.allowed) return null;
    await returnToken(store, accountBucket);
    return refusal(ofKey.retryAfterSeconds);
  }

  return async (ctx, admit = () => undefined) => {
    const limited = await take(ctx);
    admit();
    if (limited !== null) throw limited;
  };
}
