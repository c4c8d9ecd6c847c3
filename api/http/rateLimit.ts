import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { returnToken, type TokenResult, takeToken } from '../../store/keys/buckets.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import { countEvent } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { Context } from './context.ts';
import { pauseRefusal } from './refusalPause.ts';

/**
 * Takes a token from the bucket of the account, and from that of the key if its owner has set a limit. Reports the quotas of
 * both in the headers `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).
 *
 * @param authorize throws if the request is not permitted. This error takes precedence over rate_limited; the token
 *   is spent in either case
 * @throws the error of `authorize`; ServiceError rate_limited
 */
export type TakeTokens = (ctx: Context, authorize?: () => void) => Promise<void>;

/** Requests of an account that a process refuses at once within `WINDOW_SECONDS`. Further refusals come after a pause. */
const REFUSALS = 60;
const WINDOW_SECONDS = 60;

/** Burst of a key's own limit, as a multiple of its rate, if the account has no limit from which it can be derived. */
const BURST_SECONDS = 2;

/**
 * Returns the limit that a key has beside its account's: the rate set by its owner, if it is lower, with the burst scaled.
 * null: none. A bucket of such a key would never be the emptier one, because each of its tokens is taken with one of the
 * account's.
 */
function limitOfKey({ rateLimit = null }: ApiKeyDoc, account: RateLimit | null): RateLimit | null {
  if (rateLimit === null) return null;
  if (account === null) return { rate: rateLimit, burst: rateLimit * BURST_SECONDS };
  const rate = Math.min(rateLimit, account.rate);
  return { rate, burst: Math.max(1, Math.floor((account.burst * rate) / account.rate)) };
}

interface Quota {
  name: 'account' | 'key';
  limit: RateLimit;
  result: TokenResult;
}

/** Sets the headers that report the quotas. */
function report(ctx: Context, quotas: readonly Quota[]): void {
  const policies = quotas.map(
    ({ name, limit: { rate, burst } }) => `"${name}";q=${burst};w=${Math.ceil(burst / rate)}`,
  );
  const left = quotas.map(({ name, result }) => `"${name}";r=${result.remaining};t=${result.resetSeconds}`);
  ctx.set('RateLimit-Policy', policies.join(', '));
  ctx.set('RateLimit', left.join(', '));
}

export function createRateLimit(store: Store, limit: RateLimit | null): TakeTokens {
  // Not idempotent: an attempt whose response was lost has taken a token too many.
  const tokenFrom = (bucket: string, limit: RateLimit) => retryStore(() => takeToken(store, bucket, limit));
  const refusals = new RateLimiterMemory({ points: REFUSALS, duration: WINDOW_SECONDS });
  const refusal = (retryAfter: number) => new ServiceError('rate_limited', { retryAfter });

  async function take(ctx: Context): Promise<ServiceError | null> {
    const { account, key } = ctx.state.caller;
    const accountBucket = `account:${account._id}`;
    const quotas: Quota[] = [];
    if (limit !== null) {
      const ofAccount = await tokenFrom(accountBucket, limit);
      quotas.push({ name: 'account', limit, result: ofAccount });
      report(ctx, quotas);
      if (!ofAccount.allowed) return refusal(ofAccount.retryAfterSeconds);
    }
    const keyLimit = key === null ? null : limitOfKey(key, limit);
    if (key === null || keyLimit === null) return null;
    // The tokens are taken one after the other, and the account's token is given back if the key has none. If both
    // were taken at once, requests that one bucket refuses would use up the tokens of the other.
    const ofKey = await tokenFrom(`key:${key._id}`, keyLimit);
    report(ctx, [...quotas, { name: 'key', limit: keyLimit, result: ofKey }]);
    if (ofKey.allowed) return null;
    if (limit !== null) await returnToken(store, accountBucket);
    return refusal(ofKey.retryAfterSeconds);
  }

  return async (ctx, authorize = () => undefined) => {
    const limited = await take(ctx);
    authorize();
    if (limited === null) return;
    const { _id: accountId } = ctx.state.caller.account;
    if ((await countEvent(refusals, accountId)) !== null) await pauseRefusal(accountId);
    throw limited;
  };
}
