import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type Router from '@koa/router';
import { lightStyleSheet } from '../dashboard/frame/styleSheet.ts';
import type { Context, State } from '../http/context.ts';
import { createDocument, type Document, sendDocument } from '../http/document.ts';

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** Permits only this origin. Swagger UI uses inline styles and has its icons in data URIs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const own = (type: string, name: string): Document =>
  createDocument(type, readFileSync(new URL(`./${name}`, import.meta.url)));

const ofPackage = (type: string, name: string): Document =>
  createDocument(type, readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))));

/**
 * Registers `/docs/reference`, which Swagger UI renders in the browser from `openapi.json`.
 *
 * @param serverUrl URL of the API if it is not the origin of the pages
 */
export function docsRoutes(router: Router<State>, serverUrl: string | null): void {
  const origin = serverUrl === null ? '' : ` ${new URL(serverUrl).origin}`;
  const policy = POLICY.replace("connect-src 'self'", `connect-src 'self'${origin}`);
  const pages = new Map([
    ['/docs/reference', own(HTML, 'reference.html')],
    ['/docs/assets/page.css', lightStyleSheet(new URL('./page.css', import.meta.url))],
    ['/docs/assets/reference.js', own(JAVASCRIPT, 'reference.js')],
    ['/docs/assets/swagger-ui.css', ofPackage(CSS, 'swagger-ui.css')],
    ['/docs/assets/swagger-ui-bundle.js', ofPackage(JAVASCRIPT, 'swagger-ui-bundle.js')],
  ]);
  for (const [path, page] of pages)
    router.get(path, async (ctx: Context) => {
      ctx.set({ 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' });
      await sendDocument(ctx, page);
    });
}
