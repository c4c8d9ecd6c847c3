import ipaddr from 'ipaddr.js';
import type { Context } from './context.ts';

const originOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).origin : null);

/**
 * Returns the origin of this service as the client addressed it, for example with localhost, 127.0.0.1 or a public
 * name; null if the Host header is invalid. A page cannot change the Host header that a browser sends, so an Origin
 * header with this value comes from this service's own pages. `ctx.origin` cannot be used: in Koa 3 it is the value
 * of the Origin header.
 */
export const ownOrigin = (ctx: Context): string | null => originOf(`${ctx.protocol}://${ctx.host}`);

/** The origin at which clients reach this service: that of PUBLIC_URL, or the one that the client used. */
export const publicOrigin = (ctx: Context, publicUrl: string | null): string =>
  originOf(publicUrl ?? '') ?? ownOrigin(ctx) ?? `http://${ctx.host}`;

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

/**
 * Whether a page may have reached this service by DNS rebinding: its own host name resolves to a loopback address of
 * the client's machine, so that Origin and Host are the same. True if the connection arrived on a loopback address and
 * the Host header has a name other than localhost. The check is skipped if PUBLIC_URL or TRUST_PROXY is set: then a
 * proxy may run on the same machine, and all connections arrive on a loopback address.
 */
export function isRebound(ctx: Context, publicUrl: string | null): boolean {
  if (publicUrl !== null || ctx.app.proxy) return false;
  const { localAddress = '' } = ctx.req.socket;
  if (!ipaddr.isValid(localAddress) || ipaddr.process(localAddress).range() !== 'loopback') return false;
  return ctx.hostname !== 'localhost' && !ipaddr.isValid(ctx.hostname.replaceAll(/^\[|\]$/g, ''));
}
