import type Router from '@koa/router';
import { fromNodeHeaders } from 'better-auth/node';
import { ServiceError } from '../../schemas/errors.ts';
import { ADDRESS_HEADER, type Auth } from '../auth.ts';
import { readJson } from '../body.ts';
import type { Context, State } from '../context.ts';
import type { AttemptLimit } from '../middleware/attemptLimit.ts';
import { ownOrigin } from '../middleware/origin.ts';

/** Names, an address, two passwords: nothing here is long. */
const BODY_BYTES = 65_536;

/** What the dashboard uses of better-auth; its other paths (social sign-in, mail, deletion) do not exist here. */
const PATHS = {
  get: ['get-session', 'list-sessions'],
  post: [
    'sign-up/email',
    'sign-in/email',
    'sign-out',
    'update-user',
    'change-password',
    'revoke-session',
    'revoke-sessions',
    'revoke-other-sessions',
  ],
} as const;
type Path = (typeof PATHS)['get' | 'post'][number];

const SAYS_WHERE_FROM = ['origin', 'referer', 'sec-fetch-site'];

type Body = Record<string, unknown>;

const hasBody = ({ req }: Context): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;

/** The request as better-auth reads it: its URL has our own origin, its address is the one that Koa found. */
function asRequest(ctx: Context, body: Body | null): Request {
  const origin = ownOrigin(ctx);
  if (origin === null) throw new ServiceError('invalid_header', { detail: 'Host: not a host.' });
  const headers = fromNodeHeaders(ctx.req.headers);
  for (const name of ['content-length', 'transfer-encoding', 'connection', 'expect']) headers.delete(name);
  headers.set(ADDRESS_HEADER, ctx.ip);
  // Who says nothing of where this comes from is a program, not a browser, and nobody's cookies are abused by it.
  if (!SAYS_WHERE_FROM.some((name) => headers.has(name))) headers.set('origin', origin);
  const init = { method: ctx.method, headers };
  return new Request(
    origin + ctx.path + ctx.search,
    body === null ? init : { ...init, body: JSON.stringify(body) },
  );
}

async function send(ctx: Context, response: Response): Promise<void> {
  ctx.status = response.status;
  for (const [name, value] of response.headers) if (name !== 'set-cookie') ctx.set(name, value);
  ctx.append('Set-Cookie', response.headers.getSetCookie());
  ctx.set('Cache-Control', 'no-store');
  ctx.body = Buffer.from(await response.arrayBuffer());
}

/** Sign-up, sign-in and the rest by better-auth, which answers errors in its own form, `{ code, message }`. */
export function authRoutes(
  router: Router<State>,
  { auth, limit }: { auth: Auth; limit: AttemptLimit },
): void {
  /** Wrong passwords count, right ones do not. */
  async function limited(path: Path, ctx: Context, body: Body | null): Promise<Response> {
    if (path === 'sign-up/email') await limit.signUp(ctx.ip);
    if (path !== 'sign-in/email' && path !== 'change-password') return auth.handler(asRequest(ctx, body));
    const attempt = { address: ctx.ip, email: typeof body?.email === 'string' ? body.email : null };
    await limit.guess(attempt);
    const response = await auth.handler(asRequest(ctx, body));
    if (response.ok) await limit.forgive(attempt);
    return response;
  }

  const route = (path: Path) => async (ctx: Context) => {
    const body = hasBody(ctx) ? await readJson(ctx.req, BODY_BYTES) : null;
    await send(ctx, await limited(path, ctx, body));
  };
  for (const path of PATHS.get) router.get(`/api/auth/${path}`, route(path));
  for (const path of PATHS.post) router.post(`/api/auth/${path}`, route(path));
}
