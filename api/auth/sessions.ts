import { fromNodeHeaders } from 'better-auth/node';
import type { Env } from '../../schemas/env.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import type { Caller, Context } from '../http/context.ts';
import { isSameOrigin } from '../http/origin.ts';
import type { PageLimit } from '../http/pageLimit.ts';
import type { Auth, SignedIn, User } from './auth.ts';

/**
 * Finds the session, user or account of a request by its session cookie. A request with a cookie but without a session counts as a request
 * without a key. @throws ServiceError rate_limited
 */
export interface Sessions {
  signedIn(ctx: Context): Promise<Omit<SignedIn, 'setCookie'> | null>;
  user(ctx: Context): Promise<User | null>;
  /**
   * Returns the account of the signed-in user, for routes that also accept a key. Null if no user is signed in, and
   * for state-changing requests from another origin.
   */
  callerFromSession(ctx: Context): Promise<Caller | null>;
}

interface Dependencies {
  auth: Auth;
  accounts: Accounts;
  env: Pick<Env, 'PUBLIC_URL'>;
  pageLimit: Pick<PageLimit, 'count'>;
}

const isSafeMethod = (ctx: Context): boolean => ctx.method === 'GET' || ctx.method === 'HEAD';

export function createSessions({ auth, accounts, env, pageLimit }: Dependencies): Sessions {
  async function signedIn(ctx: Context): Promise<SignedIn | null> {
    if (ctx.get('Cookie') === '') return null;
    const found = await auth.signedIn(fromNodeHeaders(ctx.req.headers));
    // A cookie of a session that has ended costs as much as a page without a session.
    if (found === null) await pageLimit.count(ctx.ip);
    if (found !== null && found.setCookie.length > 0) ctx.append('Set-Cookie', found.setCookie);
    return found;
  }

  const user = async (ctx: Context): Promise<User | null> => (await signedIn(ctx))?.user ?? null;

  return {
    signedIn,
    user,
    async callerFromSession(ctx) {
      if (!isSafeMethod(ctx) && !isSameOrigin(ctx, env.PUBLIC_URL)) return null;
      const owner = await user(ctx);
      const account = owner && (await accounts.find(owner.accountId));
      return account && { account, key: null };
    },
  };
}
