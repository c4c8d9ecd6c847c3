import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Env } from '../../schemas/env.ts';
import type { Context } from '../http/context.ts';
import { emailKey } from './attemptLimit.ts';

/**
 * Device cookies as in OWASP's "Slow Down Online Guessing Attacks with Device Cookies". A browser that has signed in
 * to an account receives a signed nonce. Its later attempts to sign in are counted by that nonce instead of by
 * address.
 */
export interface KnownDevices {
  /**
   * Returns the nonce of the device cookie; null if this browser has not signed in with this email address before.
   */
  find(ctx: Context, email: string): string | null;
  /** Sets the device cookie unless the browser has a valid one. */
  remember(ctx: Context, email: string): void;
}

const NONCE_BYTES = 16;
const MAX_AGE_SECONDS = 365 * 86_400;

/** Name of the device cookie. There is one cookie per account, named by the hash of the account's email address. */
const cookieName = (email: string): string => `utility-tools.device.${emailKey(email).slice(0, 16)}`;

export function createKnownDevices(keyring: Keyring, { PUBLIC_URL }: Pick<Env, 'PUBLIC_URL'>): KnownDevices {
  const secure = PUBLIC_URL?.startsWith('https:') ? '; Secure' : '';
  const sign = (nonce: string, email: string, keyId?: string) =>
    keyring.mac('device', `${nonce} ${email.toLowerCase()}`, keyId);

  const find: KnownDevices['find'] = (ctx, email) => {
    const value = Buffer.from(ctx.cookies.get(cookieName(email)) ?? '', 'base64url').toString();
    const [nonce = '', mac = ''] = value.split(' ');
    const keyId = mac.slice(0, mac.indexOf(':'));
    if (!keyring.has(keyId)) return null;
    const [given, expected] = [Buffer.from(mac), Buffer.from(sign(nonce, email, keyId))];
    return given.length === expected.length && timingSafeEqual(given, expected) ? nonce : null;
  };

  return {
    find,
    remember(ctx, email) {
      if (find(ctx, email) !== null) return;
      const nonce = randomBytes(NONCE_BYTES).toString('base64url');
      const value = Buffer.from(`${nonce} ${sign(nonce, email)}`).toString('base64url');
      const attributes = `Path=/; Max-Age=${MAX_AGE_SECONDS}; HttpOnly; SameSite=Lax${secure}`;
      ctx.append('Set-Cookie', `${cookieName(email)}=${value}; ${attributes}`);
    },
  };
}
