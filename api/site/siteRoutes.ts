import type Router from '@koa/router';
import type { Context, State } from '../http/context.ts';
import { sendDocument } from '../http/document.ts';
import type { PageLimit } from '../http/pageLimit.ts';
import type { Installation } from './guides.ts';
import { SCOPES } from './page.ts';
import { PRICING_PATH } from './paths.ts';
import { securityText } from './securityText.ts';
import type { Site } from './site.ts';
import { STYLE_SOURCE } from './style.ts';

/** Permits only this origin, images in data URLs and the style sheet of the site; no other inline style and no inline script. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src ${STYLE_SOURCE}`,
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

export const SITE_HEADERS = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'strict-origin-when-cross-origin',
  'X-Content-Type-Options': 'nosniff',
};

/** Files at the root of the site. */
const ROOT = [
  '/',
  '/favicon.svg',
  '/favicon.ico',
  '/robots.txt',
  '/sitemap.xml',
  '/llms.txt',
  '/social-card.png',
  `${PRICING_PATH}.md`,
  ...['/contact', '/terms', '/privacy'].flatMap((path) => [path, `${path}.md`]),
];

interface Dependencies extends Omit<Installation, 'baseUrl'> {
  /** URL of the API; known when the first request arrives. */
  baseUrl(): string;
  pageLimit: Pick<PageLimit, 'render'>;
}

/**
 * Creates the landing page and the documentation. Everything is rendered at the first request, so that the API starts
 * without it, and then sent from memory.
 */
export function createSiteRoutes({ baseUrl, pageLimit, ...installation }: Dependencies) {
  let rendered: Promise<Site> | null = null;
  const site = (): Promise<Site> => {
    rendered ??= import('./site.ts').then(({ createSite }) =>
      createSite({ ...installation, baseUrl: baseUrl().replace(/\/$/, '') }),
    );
    return rendered;
  };

  const send = async (ctx: Context) => {
    const { documents, notFound } = await site();
    const document = documents.get(ctx.path);
    ctx.set(SITE_HEADERS);
    await sendDocument(ctx, document ?? notFound);
    if (document === undefined) ctx.status = 404;
  };
  function routes(router: Router<State>): void {
    for (const path of ROOT) router.get(path, send);
    router.get('/.well-known/security.txt', (ctx: Context) => {
      const { operator } = installation;
      ctx.type = 'text/plain; charset=utf-8';
      ctx.status = operator === null ? 404 : 200;
      ctx.body =
        operator === null
          ? 'This installation has no operator named, so there is nobody to report to.\n'
          : securityText(operator, baseUrl().replace(/\/$/, ''), new Date());
    });
    router.get(PRICING_PATH, async (ctx: Context) => {
      if (ctx.querystring === '') return send(ctx);
      ctx.set(SITE_HEADERS);
      ctx.set('Cache-Control', 'no-store');
      ctx.type = 'html';
      const { pricing } = await site();
      ctx.body = await pageLimit.render(ctx.ip, async () =>
        pricing((name) => [ctx.query[name]].flat().at(-1) ?? ''),
      );
    });
    router.get('/docs', send);
    router.get('/docs.md', send);
    router.get('/docs/search', async (ctx: Context) => {
      const { q, for: readers } = ctx.query;
      ctx.set(SITE_HEADERS);
      ctx.set('Cache-Control', 'no-store');
      ctx.type = 'html';
      const { search } = await site();
      const scope = SCOPES.find((it) => it === readers) ?? 'customers';
      ctx.body = await pageLimit.render(ctx.ip, () => search(typeof q === 'string' ? q : '', scope));
    });
    router.get('/docs/{*path}', send);
  }
  return { routes, unknownPage: send };
}
