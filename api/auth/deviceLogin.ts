import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { ApiKeys, NewKey } from '../../store/keys/apiKeys.ts';
import { type DeviceLogins, type DeviceOrigin, hashDeviceCode } from '../../store/keys/deviceLogins.ts';
import type { Context } from '../http/context.ts';
import { publicOrigin } from '../http/origin.ts';
import { createActor } from './actor.ts';
import { plainAddress } from './addressKey.ts';
import { DEVICE_CLIENT, DEVICE_PATH, REDEEM_PATH, withCodeHash } from './devicePlugin.ts';
import type { SendToAuth } from './sendToAuth.ts';

type Fields = Record<string, unknown>;

/** Form of a device code: 32 bytes in base64url. */
const DEVICE_CODE = /^[\w-]{43}$/;

/** Maximum length of the name of a machine. */
const DEVICE_LENGTH = 60;

/** An answer to the command: JSON with a status. */
export interface DeviceAnswer {
  status: number;
  body: Fields;
}

/** Sign-in of the command line (RFC 8628). The command gets an API key that the owner has approved on a page. */
export interface DeviceLogin {
  /** @param form the request of the command: scope of the key, name of the machine */
  start(ctx: Context, form: URLSearchParams): Promise<DeviceAnswer>;
  /** Whether the signed-in user may approve this code, which then belongs to this user. */
  claim(ctx: Context, userCode: string): Promise<boolean>;
  /** What the code signs in; null if it is unknown. */
  originOf(userCode: string): Promise<DeviceOrigin | null>;
  approve(ctx: Context, userCode: string, key: NewKey): Promise<void>;
  deny(ctx: Context, userCode: string): Promise<void>;
  /** Answers with a new key once the owner has approved the code. The code is then used up. */
  redeem(ctx: Context, deviceCode: string): Promise<DeviceAnswer>;
}

interface Dependencies {
  sendToAuth: SendToAuth;
  logins: DeviceLogins;
  apiKeys: Pick<ApiKeys, 'create'>;
  publicUrl: string | null;
}

/** The code as it is stored: people may enter it with a hyphen and in lower case. */
export const plainCode = (entered: string): string => entered.replaceAll(/[^a-z0-9]/gi, '').toUpperCase();

/** The code as it is shown: `ABCD-EFGH`. */
export const shownCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

async function fieldsOf(response: Response): Promise<Fields> {
  const body: unknown = await response.json();
  return isRecord(body) ? body : {};
}

const oauthRefusal = (error: string, description: string): DeviceAnswer => ({
  status: 400,
  body: { error, error_description: description },
});

export function createDeviceLogin(deps: Dependencies): DeviceLogin {
  const { sendToAuth, logins, apiKeys, publicUrl } = deps;

  async function decide(ctx: Context, decision: 'approve' | 'deny', userCode: string): Promise<void> {
    const init = { method: 'POST', json: { userCode }, isSignedIn: true } as const;
    const response = await sendToAuth(ctx, `device/${decision}`, init);
    if (!response.ok) throw new Error(`better-auth responded to device/${decision} with ${response.status}`);
  }

  return {
    async start(ctx, form) {
      const code = randomBytes(32).toString('base64url');
      const init = { method: 'POST', json: { client_id: DEVICE_CLIENT } } as const;
      const hash = hashDeviceCode(code);
      const response = await withCodeHash(hash, () => sendToAuth(ctx, 'device/code', init));
      const { user_code, expires_in, interval } = await fieldsOf(response);
      if (!response.ok || typeof user_code !== 'string')
        throw new Error(`better-auth responded to device/code with ${response.status}`);
      await logins.setOrigin(hash, {
        scope: form.get('scope') === 'account' ? 'account' : 'tools',
        device: (form.get('device') ?? '').slice(0, DEVICE_LENGTH),
        address: plainAddress(ctx.ip),
        startedAt: new Date(),
      });
      const page = publicOrigin(ctx, publicUrl) + DEVICE_PATH;
      const shown = shownCode(user_code);
      return {
        status: 200,
        body: {
          device_code: code,
          user_code: shown,
          verification_uri: page,
          verification_uri_complete: `${page}?user_code=${shown}`,
          expires_in,
          interval,
        },
      };
    },

    async claim(ctx, userCode) {
      const path = `device?user_code=${encodeURIComponent(userCode)}`;
      const response = await sendToAuth(ctx, path, { isSignedIn: true });
      if (!response.ok) return false;
      // The client is returned only to the user to whom the code belongs.
      const { status, client_id } = await fieldsOf(response);
      return status === 'pending' && client_id === DEVICE_CLIENT;
    },

    originOf: logins.originOf,

    async approve(ctx, userCode, key) {
      await logins.setKey(userCode, key);
      await decide(ctx, 'approve', userCode);
    },

    deny: (ctx, userCode) => decide(ctx, 'deny', userCode),

    async redeem(ctx, deviceCode) {
      if (!DEVICE_CODE.test(deviceCode)) return oauthRefusal('invalid_grant', 'Invalid device code');
      const hash = hashDeviceCode(deviceCode);
      // Redeeming deletes the code.
      const newKey = await logins.keyOf(hash);
      const response = await withCodeHash(hash, () => sendToAuth(ctx, REDEEM_PATH, { method: 'POST' }));
      if (!response.ok) {
        if (response.status >= 500)
          throw new Error(`better-auth responded to redeem with ${response.status}`);
        return { status: response.status, body: await fieldsOf(response) };
      }
      if (newKey === null) return oauthRefusal('invalid_grant', 'The code was not approved.');
      try {
        const { row, key } = await apiKeys.create(newKey, createActor(ctx.ip, ctx.get('User-Agent'), null));
        return { status: 200, body: { access_token: key, token_type: 'Bearer', name: row.name } };
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code === 'internal') throw error;
        return oauthRefusal('access_denied', error.detail);
      }
    },
  };
}
