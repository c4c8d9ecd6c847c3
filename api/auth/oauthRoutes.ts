import type Router from '@koa/router';
import { isRecord } from '../../schemas/isRecord.ts';
import type { Connections } from '../../store/keys/connections.ts';
import { readForm, readJson } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import type { PageLimit } from '../http/pageLimit.ts';
import type { AttemptLimit } from './attemptLimit.ts';
import type { FailureLimit } from './authenticate.ts';
import { sendResponse } from './authRoutes.ts';
import { isGrantWellFormed, nameResource, registrationOf } from './oauthRequests.ts';
import type { OauthServer } from './oauthServer.ts';
import { AUTH_PATH } from './sendToAuth.ts';

/** Maximum size of a request of a client, in bytes. */
const BODY_BYTES = 16_384;
/**
 * Paths of the metadata: that of an issuer with a path (RFC 8414, section 3.1), and that of clients that know only the
 * origin.
 */
const METADATA_PATHS = ['', AUTH_PATH].map((path) => `/.well-known/oauth-authorization-server${path}`);

interface Dependencies {
  oauth: OauthServer;
  connections: Pick<Connections, 'mayRefresh' | 'markUnused'>;
  limit: Pick<AttemptLimit, 'countRegistration'>;
  pageLimit: PageLimit;
  onFailure: FailureLimit;
}

/** Sends an error as RFC 6749, section 5.2, defines it. */
function refuse(ctx: Context, error: string, description: string): void {
  ctx.status = 400;
  ctx.set('Cache-Control', 'no-store');
  ctx.body = { error, error_description: description };
}

/** Registers the metadata and the requests of OAuth clients. The dashboard has the pages for owners. */
export function oauthRoutes(router: Router<State>, deps: Dependencies): void {
  const { oauth, connections, limit, pageLimit, onFailure } = deps;

  for (const path of METADATA_PATHS)
    router.get(path, (ctx: Context) => {
      ctx.body = oauth.metadata(ctx);
    });

  /** Sends the response to a client. Failures are limited by address, because each one costs requests to MongoDB. */
  async function answer(ctx: Context, response: Response): Promise<void> {
    if (!response.ok) await onFailure(ctx.ip);
    await sendResponse(ctx, response);
  }

  router.post(`${AUTH_PATH}/oauth2/register`, async (ctx: Context) => {
    await pageLimit.count(ctx.ip);
    await limit.countRegistration(ctx.ip);
    const metadata = registrationOf(await readJson(ctx, BODY_BYTES));
    if (metadata === null)
      return refuse(ctx, 'invalid_client_metadata', 'redirect_uris or client_name are invalid or too long.');
    const response = await oauth.register(ctx, metadata);
    const client: unknown = response.ok ? await response.clone().json() : null;
    if (isRecord(client) && typeof client.client_id === 'string')
      await connections.markUnused(client.client_id);
    await answer(ctx, response);
  });

  router.post(`${AUTH_PATH}/oauth2/token`, async (ctx: Context) => {
    await pageLimit.count(ctx.ip);
    const form = await readForm(ctx, BODY_BYTES);
    if (!isGrantWellFormed(form))
      return refuse(ctx, 'invalid_grant', 'The code or the refresh token is not valid.');
    using _slot = await pageLimit.acquire(ctx.ip);
    nameResource(form, oauth.endpoint(ctx));
    if (!(await connections.mayRefresh(form.get('refresh_token') ?? '')))
      return refuse(ctx, 'invalid_grant', 'The connection has expired or was revoked. Connect again.');
    await answer(ctx, await oauth.forward(ctx, 'oauth2/token', form));
  });

  router.post(`${AUTH_PATH}/oauth2/revoke`, async (ctx: Context) => {
    await pageLimit.count(ctx.ip);
    const form = await readForm(ctx, BODY_BYTES);
    using _slot = await pageLimit.acquire(ctx.ip);
    await answer(ctx, await oauth.forward(ctx, 'oauth2/revoke', form));
  });
}
