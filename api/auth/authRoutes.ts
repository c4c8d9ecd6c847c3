import type Router from '@koa/router';
import { fromNodeHeaders } from 'better-auth/node';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { readJson } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import { ownOrigin } from '../http/origin.ts';
import type { PageLimit } from '../http/pageLimit.ts';
import type { AttemptLimit } from './attemptLimit.ts';
import type { Auth } from './auth.ts';
import type { KnownDevices } from './knownDevice.ts';
import { ADDRESS_HEADER } from './securityHooks.ts';

/** Maximum size of a request body in bytes. Bodies contain only names, an email address and up to two passwords. */
const BODY_BYTES = 65_536;

/**
 * The paths of better-auth that are public. Other paths, such as those for social sign-in and for deleting users, are
 * not exposed.
 */
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
/** Paths that check the password or the second factor of a user. */
const SECOND_FACTOR_PATHS = [
  'two-factor/enable',
  'two-factor/disable',
  'two-factor/generate-backup-codes',
  'two-factor/verify-totp',
  'two-factor/verify-backup-code',
] as const;
type SecondFactorPath = (typeof SECOND_FACTOR_PATHS)[number];

/**
 * Paths of better-auth that only the dashboard calls: it sets the targets of the links in emails, shows the secrets of
 * second factors only once, and asks for the password before a passkey is added.
 */
type InternalPath =
  | 'verify-email'
  | 'send-verification-email'
  | 'request-password-reset'
  | 'reset-password'
  | 'passkey/generate-register-options'
  | 'passkey/verify-registration'
  | 'passkey/generate-authenticate-options'
  | 'passkey/verify-authentication'
  | SecondFactorPath;
type Path = (typeof PATHS)['get' | 'post'][number];

type Body = Record<string, unknown>;

interface AuthRequest {
  /** Default: the method of the current request. */
  method?: 'GET' | 'POST';
  /** Query string, including the leading `?`. */
  search?: string;
  body: Body | null;
}

/**
 * Forwards a request with the headers of the current request to a path of better-auth, after applying the attempt
 * limits.
 *
 * @throws ServiceError rate_limited, invalid_header
 */
export type ForwardToAuth = (
  ctx: Context,
  path: Path | InternalPath,
  request: AuthRequest,
) => Promise<Response>;

const hasBody = ({ req }: Context): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;

/**
 * Whether a request has no cross-site headers, as from this service's own pages and from programs other than
 * browsers.
 */
const isTrusted = (headers: Headers): boolean =>
  !headers.has('origin') &&
  !headers.has('referer') &&
  [null, 'same-origin'].includes(headers.get('sec-fetch-site'));

/** Builds the request to better-auth, with this service's own origin and the client address that Koa determined. */
function asRequest(ctx: Context, path: Path | InternalPath, request: AuthRequest): Request {
  const { method = ctx.method, search = '', body } = request;
  const origin = ownOrigin(ctx);
  if (origin === null) throw new ServiceError('invalid_header', { detail: 'The Host header is invalid.' });
  const headers = fromNodeHeaders(ctx.req.headers);
  for (const name of ['content-length', 'content-type', 'transfer-encoding', 'connection', 'expect'])
    headers.delete(name);
  headers.set(ADDRESS_HEADER, ctx.ip);
  if (isTrusted(headers)) headers.set('origin', origin);
  const url = `${origin}/api/auth/${path}${search}`;
  if (body === null) return new Request(url, { method, headers });
  headers.set('content-type', 'application/json');
  return new Request(url, { method, headers, body: JSON.stringify(body) });
}

/**
 * Paths whose attempts are limited, because they check a password, a second factor or the token of a link in an email.
 */
const LIMITED: readonly string[] = [
  'sign-in/email',
  'change-password',
  'reset-password',
  ...SECOND_FACTOR_PATHS,
];
/** Paths whose successful requests are recorded in the security log without a check of a password. */
const CHANGES: readonly string[] = [
  'update-user',
  'revoke-session',
  'revoke-sessions',
  'revoke-other-sessions',
];
/** Maximum length of a user's name. */
export const NAME_LENGTH = 100;
const MAILS: readonly string[] = ['send-verification-email', 'request-password-reset'];

/**
 * Creates `ForwardToAuth`.
 *
 * @param verifies whether email addresses are verified. If so, a sign-up sends an email, and its response does not
 *   reveal whether the address is registered
 */
export function createForwardToAuth(
  auth: Auth,
  limit: AttemptLimit,
  devices: KnownDevices,
  verifies: boolean,
): ForwardToAuth {
  return async (ctx, path, request) => {
    const ask = () => auth.handler(asRequest(ctx, path, request));
    const email = typeof request.body?.email === 'string' ? request.body.email : null;
    const device = email === null ? null : devices.find(ctx, email);
    const attempt = { address: ctx.ip, email, device };
    if (MAILS.includes(path)) await limit.countMail(attempt);
    if (CHANGES.includes(path)) await limit.countChange(ctx.ip);
    const { name } = request.body ?? {};
    if (path === 'update-user' && typeof name === 'string' && name.length > NAME_LENGTH)
      throw invalidInput([{ pointer: '/name', message: `must have at most ${NAME_LENGTH} characters` }]);
    if (path === 'sign-up/email') {
      await limit.countSignUp(ctx.ip);
      if (!verifies) return ask();
      await limit.countMail(attempt);
      const response = await ask();
      // For a registered email address better-auth returns an invented user. Its id has a different format, so the
      // user is left out.
      return response.ok ? Response.json({ token: null, user: null }) : response;
    }
    if (!LIMITED.includes(path)) return ask();
    await limit.countPasswordAttempt(attempt);
    const response = await ask();
    if (!response.ok) return response;
    await limit.countCorrectPassword(attempt);
    if (path === 'sign-in/email' && email !== null) devices.remember(ctx, email);
    return response;
  };
}

/** Sends a response of better-auth. */
export async function sendResponse(ctx: Context, response: Response): Promise<void> {
  ctx.status = response.status;
  for (const [name, value] of response.headers) if (name !== 'set-cookie') ctx.set(name, value);
  ctx.append('Set-Cookie', response.headers.getSetCookie());
  ctx.set('Cache-Control', 'no-store');
  ctx.body = Buffer.from(await response.arrayBuffer());
}

/**
 * Registers the public routes of better-auth. Their error responses have better-auth's format, `{ code, message }`.
 */
export function authRoutes(
  router: Router<State>,
  forwardToAuth: ForwardToAuth,
  pageLimit: Pick<PageLimit, 'count'>,
): void {
  const route = (path: Path) => async (ctx: Context) => {
    await pageLimit.count(ctx.ip);
    const body = hasBody(ctx) ? await readJson(ctx, BODY_BYTES) : null;
    await sendResponse(ctx, await forwardToAuth(ctx, path, { search: ctx.search, body }));
  };
  for (const path of PATHS.get) router.get(`/api/auth/${path}`, route(path));
  for (const path of PATHS.post) router.post(`/api/auth/${path}`, route(path));
}
