import Router from '@koa/router';
import Koa from 'koa';
import { ServiceError } from '../../schemas/errors.ts';
import type { ApiCore } from '../core.ts';
import { addressLimit, limitRequests } from './connectionLimit.ts';
import type { State } from './context.ts';
import { problems } from './problem.ts';
import { traceRequests } from './traceRequests.ts';

/** A part of the API that has routes. */
interface Area {
  routes(router: Router<State>): void;
}

/**
 * Responds with 405 and an `Allow` header if routes match the path but not the method. `allowedMethods` of
 * @koa/router cannot be used: it responds with 501 to unknown methods.
 */
function methodNotAllowed(router: Router<State>): Koa.Middleware<State> {
  return async (ctx, next) => {
    await next();
    if (ctx.status !== 404 || ctx.body !== undefined) return;
    const { path, route } = router.match(ctx.path, ctx.method);
    if (route || path.length === 0) return;
    ctx.set('Allow', [...new Set(path.flatMap((layer) => layer.methods))].join(', '));
    throw new ServiceError('method_not_allowed');
  };
}

/** Creates the Koa application with the routes of all areas. @param areas in the order in which their routes are matched */
export function createApplication(
  { env, log, apiMetrics, clientUses, isTraced }: ApiCore,
  areas: readonly Area[],
): Koa<State> {
  const app = new Koa<State>({ proxy: env.TRUST_PROXY });
  const router = new Router<State>();
  for (const area of areas) area.routes(router);
  if (isTraced) app.use(traceRequests());
  app.use(clientUses.track);
  app.use(problems(log, apiMetrics));
  const perAddress = addressLimit(env);
  if (env.TRUST_PROXY && perAddress !== null) app.use(limitRequests(perAddress));
  app.use(methodNotAllowed(router));
  app.use(router.routes());
  app.on('error', (error) => log.debug({ err: error }, 'connection error'));
  return app;
}
