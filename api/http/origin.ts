import type { Context } from './context.ts';

const originOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).origin : null);

/**
 * The origin of this service as the client addressed it, for example localhost, 127.0.0.1 or a public name. A page cannot
 * change the Host header that a browser sends, so an equal Origin is this service's own. Null if the Host is invalid.
 * `ctx.origin` does not work here: in Koa 3 it is the value of the Origin header.
 */
export const ownOrigin = (ctx: Context): string | null => originOf(`${ctx.protocol}://${ctx.host}`);

/**
 * False if the headers show that a page of another origin sent the request. SameSite=Lax is not enough, because another
 * port or subdomain is the same site. Without an Origin header, Sec-Fetch-Site decides (W3C Fetch Metadata); clients that
 * send neither are not browsers.
 */
export function isSameOrigin(ctx: Context, publicUrl: string | null): boolean {
  const origin = ctx.get('Origin');
  if (origin === '') return !['same-site', 'cross-site'].includes(ctx.get('Sec-Fetch-Site'));
  return origin === ownOrigin(ctx) || (publicUrl !== null && origin === originOf(publicUrl));
}
