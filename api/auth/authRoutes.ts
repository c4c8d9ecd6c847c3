import type Router from '@koa/router';
import { fromNodeHeaders } from 'better-auth/node';
import { ServiceError } from '../../schemas/errors.ts';
import { readJson } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import { ownOrigin } from '../http/origin.ts';
import type { AttemptLimit } from './attemptLimit.ts';
import { ADDRESS_HEADER, type Auth } from './auth.ts';
import type { KnownDevices } from './knownDevice.ts';

/** Names, an address, two passwords: nothing here is long. */
const BODY_BYTES = 65_536;

/** What others may use of better-auth; its other paths (social sign-in, deletion) do not exist here. */
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
/** What only our pages ask, which say where its links lead. */
type Inner = 'verify-email' | 'send-verification-email' | 'request-password-reset' | 'reset-password';
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
export type AskAuth = (ctx: Context, path: Path | Inner, request: AuthRequest) => Promise<Response>;

const hasBody = ({ req }: Context): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;

/** Who says nothing of where this comes from is a program, not a browser, and nobody's cookies are abused by it. */
const isOwn = (headers: Headers): boolean =>
  !headers.has('origin') &&
  !headers.has('referer') &&
  [null, 'same-origin'].includes(headers.get('sec-fetch-site'));

/** The request as better-auth reads it: its URL has our own origin, its address is the one that Koa found. */
function asRequest(ctx: Context, path: Path | Inner, { search = '', body }: AuthRequest): Request {
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

/** At a password, or at the secret of a link. */
const GUESSES: readonly string[] = ['sign-in/email', 'change-password', 'reset-password'];
const MAILS: readonly string[] = ['send-verification-email', 'request-password-reset'];

/**
 * Wrong passwords count, right ones do not.
 *
 * @param verifies whether addresses are verified: then a sign-up sends mail too, and its answer does not tell whether
 *   there is an account
 */
export function createAskAuth(
  auth: Auth,
  limit: AttemptLimit,
  devices: KnownDevices,
  verifies: boolean,
): AskAuth {
  return async (ctx, path, request) => {
    const ask = () => auth.handler(asRequest(ctx, path, request));
    const email = typeof request.body?.email === 'string' ? request.body.email : null;
    const device = email === null ? null : devices.find(ctx, email);
    const attempt = { address: ctx.ip, email, device };
    if (MAILS.includes(path)) await limit.mail(attempt);
    if (path === 'sign-up/email') {
      await limit.signUp(ctx.ip);
      if (!verifies) return ask();
      await limit.mail(attempt);
      const response = await ask();
      // better-auth makes up a user where there is one already, with an id that looks otherwise.
      return response.ok ? Response.json({ token: null, user: null }) : response;
    }
    if (!GUESSES.includes(path)) return ask();
    await limit.guess(attempt);
    const response = await ask();
    if (!response.ok) return response;
    await limit.forgive(attempt);
    if (path === 'sign-in/email' && email !== null) devices.remember(ctx, email);
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
