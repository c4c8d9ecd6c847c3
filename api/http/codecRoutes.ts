import type Router from '@koa/router';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { Middleware } from 'koa';
import { createCodec } from '../../platform/temporal/codec.ts';
import type { Env } from '../../schemas/env.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { ApiCore } from '../core.ts';
import { readJson } from './body.ts';
import type { Context, State } from './context.ts';
import { createValidator } from './validator.ts';

/**
 * Maximum size of a request body in bytes. Temporal accepts payloads of at most 2 MB, which are 2.7 MB in base64, and
 * an event may have more than one.
 */
const BODY_BYTES = 8_000_000;
/** Seconds for which a browser may cache the preflight response. */
const PREFLIGHT_SECONDS = 600;

const { Payload: PayloadProto } = proto.temporal.api.common.v1;

const BASE64 = { type: 'string', pattern: '^[A-Za-z0-9+/_-]*={0,2}$' } as const;

/**
 * Schema of the request body: payloads in the JSON encoding of protobuf. Unknown fields are accepted, because newer
 * Temporal versions may add some.
 */
const BODY = {
  type: 'object',
  properties: {
    payloads: {
      type: 'array',
      items: {
        type: 'object',
        properties: { metadata: { type: 'object', additionalProperties: BASE64 }, data: BASE64 },
      },
    },
  },
  required: ['payloads'],
  additionalProperties: false,
} as const;

interface Dependencies {
  sessions: Sessions;
  codec: PayloadCodec;
  env: Pick<Env, 'PUBLIC_URL' | 'TEMPORAL_UI_URL'>;
}

/** Creates the endpoint that decrypts payloads of Temporal for operators. */
export const createCodecArea = ({ env, keyring }: ApiCore, { sessions }: { sessions: Sessions }) => ({
  routes: (router: Router<State>) => codecRoutes(router, { sessions, codec: createCodec(keyring), env }),
});

/**
 * Registers the endpoint through which the Temporal UI shows operators the decrypted payloads of workflow histories.
 * Of the remote codec protocol (https://docs.temporal.io/remote-data-encoding) only `decode` is needed. CORS permits
 * only the origin of the UI.
 */
function codecRoutes(router: Router<State>, { sessions, codec, env }: Dependencies): void {
  const uiOrigin = env.TEMPORAL_UI_URL === null ? null : new URL(env.TEMPORAL_UI_URL).origin;
  const validate = createValidator()<{ payloads: Record<string, unknown>[] }>(BODY);

  const isUi = (ctx: Context): boolean => uiOrigin !== null && ctx.get('Origin') === uiOrigin;

  const cors: Middleware<State> = async (ctx, next) => {
    ctx.vary('Origin');
    if (isUi(ctx)) {
      ctx.set('Access-Control-Allow-Origin', ctx.get('Origin'));
      ctx.set('Access-Control-Allow-Credentials', 'true');
    }
    await next();
  };

  async function decode(payload: Record<string, unknown>, index: number): Promise<Payload> {
    try {
      const [decoded] = await codec.decode([PayloadProto.fromObject(payload)]);
      if (decoded === undefined) throw new Error('the codec returned no payload');
      return decoded;
    } catch (error) {
      throw new ServiceError('invalid_input', {
        errors: [
          {
            pointer: `/payloads/${index}`,
            message: 'is not encrypted with a master key of this installation',
          },
        ],
        cause: error,
      });
    }
  }

  router.options('/codec/decode', cors, (ctx) => {
    ctx.status = 204;
    if (!isUi(ctx)) return;
    ctx.set('Access-Control-Allow-Methods', 'POST');
    ctx.set('Access-Control-Allow-Headers', 'Content-Type, X-Namespace');
    ctx.set('Access-Control-Max-Age', String(PREFLIGHT_SECONDS));
  });

  // The proxy in front of the Temporal UI asks this for each request, and forwards the request on 204 only.
  router.get('/codec/operator', async (ctx) => {
    ctx.set('Cache-Control', 'no-store');
    const user = await sessions.user(ctx);
    if (user === null) {
      ctx.redirect(`${env.PUBLIC_URL ?? ''}/dashboard`);
      return;
    }
    if (user.role !== 'operator')
      throw new ServiceError('insufficient_scope', { detail: 'Only operators can open the Temporal UI.' });
    ctx.status = 204;
  });

  router.post('/codec/decode', cors, async (ctx) => {
    const user = await sessions.user(ctx);
    if (user === null)
      throw new ServiceError('missing_api_key', { detail: 'Sign in to the dashboard as an operator first.' });
    if (user.role !== 'operator')
      throw new ServiceError('insufficient_scope', { detail: 'Only operators can read payloads.' });
    const { payloads } = validate(await readJson(ctx, BODY_BYTES));
    const decoded = await Promise.all(payloads.map(decode));
    ctx.set('Cache-Control', 'no-store');
    ctx.body = {
      payloads: decoded.map((payload) =>
        PayloadProto.toObject(PayloadProto.fromObject(payload), { bytes: String }),
      ),
    };
  });
}
