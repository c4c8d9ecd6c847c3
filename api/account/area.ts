import type Router from '@koa/router';
import type { CallContents } from '../../store/calls/callContents.ts';
import type { Files } from '../../store/files/files.ts';
import { createJobUsage } from '../../store/jobs/jobUsage.ts';
import type { Auth } from '../auth/auth.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { createServe } from '../http/operation.ts';
import type { Webhooks } from '../webhooks/webhookService.ts';
import { accountRoutes } from './accountRoutes.ts';
import { limitKeyChanges } from './changeLimit.ts';
import { createExportAccount } from './exportAccount.ts';
import { createKeys } from './keyService.ts';

interface Services {
  auth: Auth;
  sessions: Sessions;
  webhooks: Webhooks;
  contents: CallContents;
  files: Files;
}

/** Creates the Account API: keys, ledger, calls, events and webhook endpoints of an account. */
export function createAccountArea(core: ApiCore, services: Services) {
  const { env, registry, store, accounts, apiKeys, lists, limits } = core;
  const { auth, sessions, webhooks, contents, files } = services;
  const keys = createKeys({
    lists,
    apiKeys: limitKeyChanges(apiKeys, limits.countChange),
    accounts,
    registry,
  });
  return {
    keys,
    exportAccount: createExportAccount(store, auth, contents, files, core.keyring),
    routes(router: Router<State>) {
      const authenticate = createAuthenticate({
        apiKeys,
        onFailure: limits.onFailure,
        attention: core.attention,
        session: sessions.callerFromSession,
      });
      const serve = createServe(router, { authenticate, rateLimit: limits.rateLimit });
      accountRoutes(serve, {
        lists,
        keys,
        webhooks,
        jobUsage: createJobUsage(store, env.RATE_LIMIT),
        fileUsage: files.usage,
      });
    },
  };
}
