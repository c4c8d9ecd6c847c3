import type { Context } from './context.ts';

const originOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).origin : null);

/**
 * Returns the origin of this service as the client addressed it, for example with localhost, 127.0.0.1 or a public
 * name; null if the Host header is invalid. A page cannot change the Host header that a browser sends, so an Origin
 * header with this value comes from this service's own pages. `ctx.origin` cannot be used: in Koa 3 it is the value
 * of the Origin header.
 */
export const ownOrigin = (ctx: Context): string | null => originOf(`${ctx.protocol}://${ctx.host}`);

/**
 * Whether a request may come from this service's own pages: false if its headers show that a page of another origin
 * sent it. The cookie attribute SameSite=Lax is not enough, because another port or subdomain is the same site.
 * Without an Origin header, Sec-Fetch-Site decides (W3C Fetch Metadata); clients that send neither header are not
 * browsers.
 */
export function isSameOrigin(ctx: Context, publicUrl: string | null): boolean {
  const origin = ctx.get('Origin');
  if (origin === '') return !['same-site', 'cross-site'].includes(ctx.get('Sec-Fetch-Site'));
  return origin === ownOrigin(ctx) || (publicUrl !== null && origin === originOf(publicUrl));
}
