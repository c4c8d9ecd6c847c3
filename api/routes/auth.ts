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

type Body = Record<string, unknown>;

interface AuthRequest {
  /** With its `?`. */
  search?: string;
  body: Body | null;
}

/**
 * Has better-auth answer one of its paths, within the limits for attempts, for whoever sent the request at hand.
 *
 * @throws ServiceError rate_limited, invalid_header
 */
export type AskAuth = (ctx: Context, path: Path, request: AuthRequest) => Promise<Response>;

const hasBody = ({ req }: Context): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;

/** Who says nothing of where this comes from is a program, not a browser, and nobody's cookies are abused by it. */
const isOwn = (headers: Headers): boolean =>
  !headers.has('origin') &&
  !headers.has('referer') &&
  [null, 'same-origin'].includes(headers.get('sec-fetch-site'));

/** The request as better-auth reads it: its URL has our own origin, its address is the one that Koa found. */
function asRequest(ctx: Context, path: Path, { search = '', body }: AuthRequest): Request {
  const origin = ownOrigin(ctx);
  if (origin === null) throw new ServiceError('invalid_header', { detail: 'Host: not a host.' });
  const headers = fromNodeHeaders(ctx.req.headers);
  for (const name of ['content-length', 'content-type', 'transfer-encoding', 'connection', 'expect'])
    headers.delete(name);
  headers.set(ADDRESS_HEADER, ctx.ip);
  if (isOwn(headers)) headers.set('origin', origin);
  const url = `${origin}/api/auth/${path}${search}`;
  if (body === null) return new Request(url, { method: ctx.method, headers });
  headers.set('content-type', 'application/json');
  return new Request(url, { method: ctx.method, headers, body: JSON.stringify(body) });
}

/** Wrong passwords count, right ones do not. */
export function createAskAuth(auth: Auth, limit: AttemptLimit): AskAuth {
  return async (ctx, path, request) => {
    if (path === 'sign-up/email') await limit.signUp(ctx.ip);
    if (path !== 'sign-in/email' && path !== 'change-password')
      return auth.handler(asRequest(ctx, path, request));
    const email = request.body?.email;
    const attempt = { address: ctx.ip, email: typeof email === 'string' ? email : null };
    await limit.guess(attempt);
    const response = await auth.handler(asRequest(ctx, path, request));
    if (response.ok) await limit.forgive(attempt);
    return response;
  };
}

async function send(ctx: Context, response: Response): Promise<void> {
  ctx.status = response.status;
  for (const [name, value] of response.headers) if (name !== 'set-cookie') ctx.set(name, value);
  ctx.append('Set-Cookie', response.headers.getSetCookie());
  ctx.set('Cache-Control', 'no-store');
  ctx.body = Buffer.from(await response.arrayBuffer());
}

/** Sign-up, sign-in and the rest by better-auth, which answers errors in its own form, `{ code, message }`. */
export function authRoutes(router: Router<State>, askAuth: AskAuth): void {
  const route = (path: Path) => async (ctx: Context) => {
    const body = hasBody(ctx) ? await readJson(ctx.req, BODY_BYTES) : null;
    await send(ctx, await askAuth(ctx, path, { search: ctx.search, body }));
  };
  for (const path of PATHS.get) router.get(`/api/auth/${path}`, route(path));
  for (const path of PATHS.post) router.post(`/api/auth/${path}`, route(path));
}
