import type { Context } from './context.ts';

const originOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).origin : null);

/**
 * Our own origin as this caller knows it; localhost, 127.0.0.1 and a public name are all right. A page cannot make a
 * browser name another Host than the one it sends to, so what equals it is ours. Null for a Host that is no host.
 * Not `ctx.origin`: in Koa 3 that is what the Origin header says.
 */
export const ownOrigin = (ctx: Context): string | null => originOf(`${ctx.protocol}://${ctx.host}`);

/**
 * False when a browser says that a page of another origin sent this. SameSite=Lax is not enough for that: a page on
 * another port or subdomain is of the same site. A browser that sends no Origin may say it by Sec-Fetch-Site (W3C Fetch
 * Metadata); who sends neither is no browser.
 */
export function isSameOrigin(ctx: Context, publicUrl: string | null): boolean {
  const origin = ctx.get('Origin');
  if (origin === '') return !['same-site', 'cross-site'].includes(ctx.get('Sec-Fetch-Site'));
  return origin === ownOrigin(ctx) || (publicUrl !== null && origin === originOf(publicUrl));
}
