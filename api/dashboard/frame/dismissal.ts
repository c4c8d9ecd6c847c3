import type { Broadcast } from '../../../store/accounts/broadcast.ts';
import type { Context } from '../../http/context.ts';

const COOKIE = 'utility-tools.notice';
const PATH = '/dashboard';

export const isDismissed = (ctx: Context, notice: Broadcast | null): boolean =>
  notice !== null && ctx.cookies.get(COOKIE) === notice.id;

/** Hides the notice in this browser until it expires. */
export const dismiss = (ctx: Context, { id, expiresAt }: Broadcast): void => {
  ctx.cookies.set(COOKIE, id, { path: PATH, expires: expiresAt, httpOnly: true, sameSite: 'lax' });
};

/** The page of the dashboard from which a form was sent; the first page if the browser does not tell. */
export function senderOf(ctx: Context): string {
  const referer = ctx.get('Referer');
  if (!URL.canParse(referer)) return PATH;
  const { host, pathname, search } = new URL(referer);
  const isOwn = host === ctx.host && (pathname === PATH || pathname.startsWith(`${PATH}/`));
  return isOwn ? `${pathname}${search}` : PATH;
}
