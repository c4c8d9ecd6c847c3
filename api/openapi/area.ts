import type Router from '@koa/router';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import type { InternalPort } from '../internalPort.ts';
import { operatorOf } from '../operator.ts';
import { metaRoutes } from './metaRoutes.ts';

/** Creates the health checks, the price list and the OpenAPI document. */
export const createOpenapiArea = (
  { env, registry, limits }: ApiCore,
  { readiness }: Pick<InternalPort, 'readiness'>,
) => ({
  routes: (router: Router<State>) =>
    metaRoutes(router, registry, {
      serverUrl: env.PUBLIC_URL,
      operator: operatorOf(env),
      readiness,
      pageLimit: limits.pageLimit,
    }),
});
