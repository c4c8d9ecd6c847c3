import Router from '@koa/router';
import Koa from 'koa';
import { ServiceError } from '../../schemas/errors.ts';
import type { ApiCore } from '../core.ts';
import { prefersRaw } from './accept.ts';
import { addressLimit, limitRequests } from './connectionLimit.ts';
import type { Context, State } from './context.ts';
import { problems } from './problem.ts';
import { traceRequests } from './traceRequests.ts';

/** A part of the API that has routes. */
interface Area {
  routes(router: Router<State>): void;
  /** Shows a browser that a page does not exist. */
  unknownPage?(ctx: Context): Promise<void>;
}

/** Whether a browser asks for a page, and not a program for a resource. */
const isForPage = ({ method, path, headers }: Context): boolean =>
  method === 'GET' && !path.startsWith('/api/') && prefersRaw(headers.accept, 'text/html');

/**
 * Responds with 405 and an `Allow` header if routes match the path but not the method, and to browsers with a page if none matches the
 * path. `allowedMethods` of @koa/router cannot be used: it responds with 501 to unknown methods.
 */
function unmatched(router: Router<State>, areas: readonly Area[]): Koa.Middleware<State> {
  const showUnknown = areas.find(({ unknownPage }) => unknownPage !== undefined)?.unknownPage;
  return async (ctx: Context, next) => {
    await next();
    if (ctx.status !== 404 || ctx.body !== undefined) return;
    const { path, route } = router.match(ctx.path, ctx.method);
    if (route) return;
    if (path.length === 0) return isForPage(ctx) ? showUnknown?.(ctx) : undefined;
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
  app.use(unmatched(router, areas));
  app.use(router.routes());
  app.on('error', (error) => log.debug({ err: error }, 'connection error'));
  return app;
}
