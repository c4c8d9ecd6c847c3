import { ServiceError } from '../../schemas/errors.ts';
import { isInNetworks } from '../../schemas/formats/network.ts';
import type { ApiKeys } from '../../store/keys/apiKeys.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { Attention } from '../calls/attention.ts';
import type { Caller, Context } from '../http/context.ts';
import { plainAddress } from './addressKey.ts';

/** Counts a failed authentication of a client address. @throws ServiceError rate_limited above the limit */
export type FailureLimit = (address: string) => Promise<void>;

interface Dependencies {
  apiKeys: ApiKeys;
  onFailure: FailureLimit;
  attention: Pick<Attention, 'keyRefused'>;
  /**
   * Finds the caller by the session cookie of a request that has no Authorization header. If omitted, only API keys
   * are accepted.
   */
  session?: (ctx: Context) => Promise<Caller | null>;
}

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;

/**
 * Creates the function that authenticates a request and sets `ctx.state.caller`. @throws ServiceError
 * missing_api_key, invalid_api_key, network_not_allowed, rate_limited
 */
export function createAuthenticate({ apiKeys, onFailure, attention, session }: Dependencies) {
  return async (ctx: Context): Promise<void> => {
    const header = ctx.get('Authorization');
    const owner = header === '' && session !== undefined ? await session(ctx) : null;
    if (owner !== null) {
      ctx.state.caller = owner;
      return;
    }
    const presented = BEARER.exec(header)?.[1];
    const { requestId } = ctx.state;
    const onDead = (row: ApiKeyDoc) => attention.keyRefused(row, 'invalid_api_key', requestId);
    const found =
      presented === undefined ? null : await retryStore(() => apiKeys.authenticate(presented, onDead));
    if (found === null || found.account === null) {
      await onFailure(ctx.ip);
      throw new ServiceError(header === '' ? 'missing_api_key' : 'invalid_api_key');
    }
    const { key, account } = found;
    const { allowedNetworks = null } = key;
    if (allowedNetworks !== null && !isInNetworks(ctx.ip, allowedNetworks)) {
      attention.keyRefused(key, 'network_not_allowed', requestId);
      // Counts as a failure, so that a stolen key cannot be used to send requests without a limit.
      await onFailure(ctx.ip);
      throw new ServiceError('network_not_allowed');
    }
    apiKeys.recordUse(key._id, plainAddress(ctx.ip));
    ctx.state.caller = { account, key };
  };
}
