import type Router from '@koa/router';
import type { Registry } from '../../schemas/registry.ts';
import type { State } from '../context.ts';

/** What anybody may know without a key: the catalogue. */
export function metaRoutes(router: Router<State>, registry: Registry): void {
  const items = [...registry.values()].map(({ name, title, description, price, pool, input, output }) => ({
    name,
    title,
    description,
    price,
    pool,
    input,
    output,
  }));
  router.get('/api/v1/tools', (ctx) => {
    ctx.body = { items };
  });
  router.get('/livez', (ctx) => {
    ctx.body = { status: 'ok' };
  });
}
