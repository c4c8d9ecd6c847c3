import { join } from 'node:path';
import type Router from '@koa/router';
import type { Pack } from '../../schemas/formats/packs.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { operatorOf } from '../operator.ts';
import { clientFileRoutes } from './clientFiles.ts';
import { createSiteRoutes } from './siteRoutes.ts';

/** Creates the landing page and the documentation. */
export const createSiteArea = (
  { env, registry, publicUrl, limits }: ApiCore,
  { packs }: { packs: readonly Pack[] },
) => {
  const { routes, unknownPage } = createSiteRoutes({
    registry,
    baseUrl: publicUrl,
    pageLimit: limits.pageLimit,
    freeCredits: env.FREE_CREDITS,
    packs,
    operator: operatorOf(env),
    hasTrials: env.TRIAL_CREDITS > 0,
  });
  return {
    routes(router: Router<State>) {
      clientFileRoutes(router, join(env.DATA_DIR, 'clients'));
      routes(router);
    },
    unknownPage,
  };
};
