import { isRecord } from '../../schemas/isRecord.ts';
import type { Context } from '../http/context.ts';
import type { AttemptLimit } from './attemptLimit.ts';
import type { ForwardToAuth } from './authRoutes.ts';
import type { KnownDevices } from './knownDevice.ts';
import { type Credential, withoutAttestation } from './passkeyCredential.ts';

/**
 * The steps in which a browser adds a passkey or signs in with one. better-auth creates and verifies the challenges; it
 * accepts each once, for five minutes, from the browser that asked for it.
 */
export interface PasskeySteps {
  /** Returns the options for `navigator.credentials.create()`. The password must have been checked. */
  startAdding(ctx: Context): Promise<Response>;
  add(ctx: Context, name: string, credential: Credential): Promise<Response>;
  /** Returns the options for `navigator.credentials.get()`. @throws ServiceError rate_limited */
  startSignIn(ctx: Context): Promise<Response>;
  /** Starts a session. */
  signIn(ctx: Context, credential: Credential): Promise<Response>;
}

/** Email address in better-auth's response to a sign-in. */
function emailOf(body: unknown): string {
  if (!isRecord(body) || !isRecord(body.user) || typeof body.user.email !== 'string')
    throw new Error('better-auth returned no user');
  return body.user.email;
}

export const createPasskeySteps = (
  forwardToAuth: ForwardToAuth,
  limit: Pick<AttemptLimit, 'countPasskeyAttempt' | 'resetPasskeyAttempt'>,
  devices: Pick<KnownDevices, 'remember'>,
): PasskeySteps => ({
  startAdding: (ctx) =>
    forwardToAuth(ctx, 'passkey/generate-register-options', { method: 'GET', body: null }),

  add: (ctx, name, credential) =>
    forwardToAuth(ctx, 'passkey/verify-registration', {
      body: { name, response: withoutAttestation(credential) },
    }),

  async startSignIn(ctx) {
    await limit.countPasskeyAttempt(ctx.ip);
    return forwardToAuth(ctx, 'passkey/generate-authenticate-options', { method: 'GET', body: null });
  },

  async signIn(ctx, credential) {
    const response = await forwardToAuth(ctx, 'passkey/verify-authentication', {
      body: { response: credential },
    });
    if (!response.ok) return response;
    await limit.resetPasskeyAttempt(ctx.ip);
    devices.remember(ctx, emailOf(await response.clone().json()));
    return response;
  },
});
