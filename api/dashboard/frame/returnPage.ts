import type { Context } from '../../http/context.ts';

/** The cookie with the page to which a visitor returns after sign-in. */
const COOKIE = 'utility-tools.return';
const MAX_AGE_SECONDS = 600;
/** Browsers keep cookies of up to 4096 bytes. */
const LONGEST = 3800;

const setCookie = (ctx: Context, value: string, seconds: number): void =>
  ctx.append(
    'Set-Cookie',
    `${COOKIE}=${value}; Path=/dashboard; Max-Age=${seconds}; HttpOnly; SameSite=Lax${ctx.secure ? '; Secure' : ''}`,
  );

/**
 * Remembers the requested page until the visitor has signed in, which can take several pages. Nothing is remembered if the
 * address is too long for a cookie.
 */
export function rememberPage(ctx: Context): void {
  const value = Buffer.from(ctx.path + ctx.search).toString('base64url');
  if (value.length <= LONGEST) setCookie(ctx, value, MAX_AGE_SECONDS);
}

/** Returns the remembered page and forgets it. @param pages paths to which visitors may return */
export function takePage(ctx: Context, pages: readonly string[]): string | null {
  const value = ctx.cookies.get(COOKIE);
  if (value === undefined) return null;
  setCookie(ctx, '', 0);
  const address = Buffer.from(value, 'base64url').toString();
  return pages.some((path) => address === path || address.startsWith(`${path}?`)) ? address : null;
}
