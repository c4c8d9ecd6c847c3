import { ServiceError } from '../../schemas/errors.ts';
import type { Context } from '../http/context.ts';
import { ownOrigin } from '../http/origin.ts';
import type { Auth } from './auth.ts';
import { ADDRESS_HEADER } from './securityHooks.ts';

export const AUTH_PATH = '/api/auth';

interface AuthInit {
  method?: 'GET' | 'POST';
  /** Sent as JSON. */
  json?: Record<string, unknown>;
  form?: URLSearchParams;
  /** Whether the request acts for the signed-in user of the current request. */
  isSignedIn?: boolean;
}

/**
 * Sends a request to a path of better-auth. Of the current request it has only the client address and, on demand, the
 * cookies.
 *
 * @throws ServiceError invalid_header
 */
export type SendToAuth = (ctx: Context, path: string, init?: AuthInit) => Promise<Response>;

export const createSendToAuth =
  (auth: Pick<Auth, 'handler'>): SendToAuth =>
  async (ctx, path, { method = 'GET', json, form, isSignedIn = false } = {}) => {
    const origin = ownOrigin(ctx);
    if (origin === null) throw new ServiceError('invalid_header', { detail: 'The Host header is invalid.' });
    const headers = new Headers({ origin, accept: 'application/json', [ADDRESS_HEADER]: ctx.ip });
    if (json !== undefined) headers.set('content-type', 'application/json');
    if (form !== undefined) headers.set('content-type', 'application/x-www-form-urlencoded');
    if (isSignedIn && ctx.get('Cookie') !== '') headers.set('cookie', ctx.get('Cookie'));
    const body = json === undefined ? form?.toString() : JSON.stringify(json);
    return auth.handler(
      new Request(`${origin}${AUTH_PATH}/${path}`, { method, headers, ...(body !== undefined && { body }) }),
    );
  };
