import type Router from '@koa/router';
import { ServiceError } from '../../schemas/errors.ts';
import type { ApiKeys } from '../../store/keys/apiKeys.ts';
import { readForm } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import type { PageLimit } from '../http/pageLimit.ts';
import { actorOf } from './actor.ts';
import type { AttemptLimit } from './attemptLimit.ts';
import type { FailureLimit } from './authenticate.ts';
import type { DeviceAnswer, DeviceLogin } from './deviceLogin.ts';
import { AUTH_PATH } from './sendToAuth.ts';

/** Maximum size of a request of the command, in bytes. */
const BODY_BYTES = 4096;

interface Dependencies {
  deviceLogin: Pick<DeviceLogin, 'start' | 'redeem'>;
  apiKeys: Pick<ApiKeys, 'revoke'>;
  authenticate(ctx: Context): Promise<void>;
  limit: Pick<AttemptLimit, 'countRegistration'>;
  pageLimit: PageLimit;
  onFailure: FailureLimit;
}

function send(ctx: Context, { status, body }: DeviceAnswer): void {
  ctx.status = status;
  ctx.set('Cache-Control', 'no-store');
  ctx.body = body;
}

/** Registers the requests of `utility-tools login` and `logout`. The dashboard has the page for owners. */
export function deviceRoutes(router: Router<State>, deps: Dependencies): void {
  const { deviceLogin, apiKeys, authenticate, limit, pageLimit, onFailure } = deps;

  router.post(`${AUTH_PATH}/device/code`, async (ctx: Context) => {
    await pageLimit.count(ctx.ip);
    await limit.countRegistration(ctx.ip);
    send(ctx, await deviceLogin.start(ctx, await readForm(ctx, BODY_BYTES)));
  });

  router.post(`${AUTH_PATH}/device/token`, async (ctx: Context) => {
    await pageLimit.count(ctx.ip);
    const form = await readForm(ctx, BODY_BYTES);
    using _slot = await pageLimit.acquire(ctx.ip);
    const answer = await deviceLogin.redeem(ctx, form.get('device_code') ?? '');
    if (answer.body.error === 'invalid_grant') await onFailure(ctx.ip);
    send(ctx, answer);
  });

  router.post(`${AUTH_PATH}/device/logout`, async (ctx: Context) => {
    await authenticate(ctx);
    const { key } = ctx.state.caller;
    if (key === null) throw new ServiceError('missing_api_key');
    await apiKeys.revoke(key.accountId, key._id, actorOf(ctx));
    ctx.status = 204;
  });
}
