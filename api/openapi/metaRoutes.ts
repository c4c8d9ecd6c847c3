import type Router from '@koa/router';
import type { Readiness } from '../../platform/readiness.ts';
import { OPERATIONS } from '../../schemas/operations.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { Context, State } from '../http/context.ts';
import { createDocument, sendDocument } from '../http/document.ts';
import { publicOrigin } from '../http/origin.ts';
import type { PageLimit } from '../http/pageLimit.ts';
import type { Operator } from '../operator.ts';
import { openApiDocument } from './openapi.ts';
import { postmanCollection } from './postman.ts';

const JSON_TYPE = 'application/json';

interface Dependencies {
  /** URL of the API; null: the origin of the document. */
  serverUrl: string | null;
  /** Operator of the installation; null if none is configured. */
  operator: Operator | null;
  readiness(): Promise<Readiness>;
  pageLimit: Pick<PageLimit, 'render'>;
}

/** Registers the routes that need no key: tool catalogue, OpenAPI document, collection for Postman and health. */
export function metaRoutes(
  router: Router<State>,
  registry: Registry,
  { serverUrl, operator, readiness, pageLimit }: Dependencies,
): void {
  const items = [...registry.values()].map(({ name, title, description, price, pool, input, output }) => ({
    name,
    title,
    description,
    price,
    pool,
    input,
    output,
  }));
  const catalogue = createDocument(JSON_TYPE, JSON.stringify({ items }));
  const reference = createDocument(
    JSON_TYPE,
    JSON.stringify(
      openApiDocument({
        registry,
        operations: OPERATIONS,
        serverUrl,
        ...(operator !== null && { operator }),
      }),
    ),
  );
  router.get('/api/v1/tools', (ctx: Context) => sendDocument(ctx, catalogue));
  router.get('/postman.json', async (ctx: Context) => {
    const baseUrl = publicOrigin(ctx, serverUrl);
    await pageLimit.render(ctx.ip, async () => {
      const collection = postmanCollection({ registry, operations: OPERATIONS, baseUrl });
      await sendDocument(ctx, createDocument(JSON_TYPE, JSON.stringify(collection)));
    });
  });
  router.get('/openapi.json', (ctx: Context) => sendDocument(ctx, reference));
  router.get('/livez', (ctx) => {
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { status: 'ok' };
  });
  router.get('/readyz', async (ctx) => {
    const result = await readiness();
    ctx.set('Cache-Control', 'no-store');
    ctx.status = result.status === 'ready' ? 200 : 503;
    ctx.body = result;
  });
}
