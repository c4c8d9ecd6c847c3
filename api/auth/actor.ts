import type { Actor } from '../../store/accounts/securityLog.ts';
import type { Context } from '../http/context.ts';
import { plainAddress } from './addressKey.ts';

/** Maximum length of a stored User-Agent header. */
const LONGEST_USER_AGENT = 300;

/** Creates the record of who sent a request, for the security log. */
export const createActor = (address: string, userAgent: string, keyPrefix: string | null): Actor => ({
  address: plainAddress(address),
  userAgent: userAgent.slice(0, LONGEST_USER_AGENT),
  keyPrefix,
  isOperator: false,
});

/** The sender of an authenticated request. */
export const actorOf = (ctx: Context): Actor =>
  createActor(ctx.ip, ctx.get('User-Agent'), ctx.state.caller.key?.prefix ?? null);
