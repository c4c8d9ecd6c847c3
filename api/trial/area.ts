import type Router from '@koa/router';
import type { Outages } from '../calls/outages.ts';
import type { ToolCallService } from '../calls/run.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { createTrialAccount } from './trialAccount.ts';
import { createTrialLimit } from './trialLimit.ts';
import { trialRoutes } from './trialRoutes.ts';

interface Services {
  toolCallService: ToolCallService;
  outages: Outages;
}

/** Creates the calls without an account; none if TRIAL_CREDITS is 0. */
export const createTrialArea = (
  { env, log, registry, store, accounts, publicUrl }: ApiCore,
  { toolCallService, outages }: Services,
) => ({
  routes(router: Router<State>) {
    if (env.TRIAL_CREDITS > 0)
      trialRoutes(router, {
        registry,
        toolCallService,
        outages,
        findAccount: createTrialAccount(accounts, env.TRIAL_CREDITS),
        limit: createTrialLimit(store, env.RATE_LIMIT),
        baseUrl: publicUrl,
        publicUrl: env.PUBLIC_URL,
        log,
      });
  },
});
