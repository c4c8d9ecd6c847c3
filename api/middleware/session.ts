import { fromNodeHeaders } from 'better-auth/node';
import type { Env } from '../../schemas/env.ts';
import type { Accounts } from '../../store/accounts.ts';
import type { Auth, User } from '../auth.ts';
import type { Caller, Context } from '../context.ts';
import { isSameOrigin } from './origin.ts';

/** What the session cookie of a request says. */
export interface Sessions {
  user(ctx: Context): Promise<User | null>;
  /** The user's account, for routes that also take a key. Null also for a change asked for by another origin's page. */
  callerFromSession(ctx: Context): Promise<Caller | null>;
}

interface Dependencies {
  auth: Auth;
  accounts: Accounts;
  env: Pick<Env, 'PUBLIC_URL'>;
}

const changesNothing = (ctx: Context): boolean => ctx.method === 'GET' || ctx.method === 'HEAD';

export function createSessions({ auth, accounts, env }: Dependencies): Sessions {
  async function user(ctx: Context): Promise<User | null> {
    if (ctx.get('Cookie') === '') return null;
    const signedIn = await auth.signedIn(fromNodeHeaders(ctx.req.headers));
    if (signedIn === null) return null;
    if (signedIn.setCookie.length > 0) ctx.append('Set-Cookie', signedIn.setCookie);
    return signedIn.user;
  }

  return {
    user,
    async callerFromSession(ctx) {
      if (!changesNothing(ctx) && !isSameOrigin(ctx, env.PUBLIC_URL)) return null;
      const signedIn = await user(ctx);
      const account = signedIn && (await accounts.find(signedIn.accountId));
      return account && { account, key: null };
    },
  };
}
