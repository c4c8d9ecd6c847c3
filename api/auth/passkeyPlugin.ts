import { passkey } from '@better-auth/passkey';
import { APIError } from 'better-auth/api';
import ipaddr from 'ipaddr.js';

/** Code of the error for a device that did not check who uses it. */
export const USER_NOT_VERIFIED = 'USER_NOT_VERIFIED';

/** The host name to which passkeys are bound, and the origin of the pages that use them. */
interface PasskeySite {
  host: string;
  origin: string;
}

/**
 * Returns null if browsers offer no passkeys at the public URL: it must have a host name, and HTTPS except on localhost
 * (Web Authentication, section 5.1.2).
 */
export function passkeySite(publicUrl: string | null): PasskeySite | null {
  if (publicUrl === null) return null;
  const { protocol, hostname: host, origin } = new URL(publicUrl);
  if (ipaddr.isValid(host.replaceAll(/^\[|\]$/g, ''))) return null;
  const isLocal = host === 'localhost' || host.endsWith('.localhost');
  return protocol === 'https:' || isLocal ? { host, origin } : null;
}

/** A passkey replaces password and second factor, so the device must have checked who uses it. */
function requireUserVerification(isVerified: boolean | undefined): void {
  if (isVerified === true) return;
  const message = 'The authenticator has not verified the user';
  throw new APIError('UNAUTHORIZED', { code: USER_NOT_VERIFIED, message });
}

/**
 * Creates better-auth's plugin for passkeys. The dashboard calls its endpoints; none is public.
 *
 * @param site null: there are no passkeys
 * @param markUsed records a sign-in with a passkey; returns false if it has just been removed
 */
export function passkeyPlugins(
  site: PasskeySite | null,
  markUsed: (credentialId: string) => Promise<boolean>,
) {
  if (site === null) return [];
  const plugin = passkey({
    rpID: site.host,
    origin: site.origin,
    // The authenticator stores the passkey with the user, so that a sign-in needs no email address.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    advanced: { webAuthnChallengeCookie: 'passkey' },
    schema: { passkey: { modelName: 'passkeys' } },
    registration: {
      // The page requires a session and asks for the password. Otherwise, the plugin would refuse sessions older than a day.
      requireSession: false,
      afterVerification: async ({ verification }) =>
        requireUserVerification(verification.registrationInfo?.userVerified),
    },
    authentication: {
      afterVerification: async ({ verification: { authenticationInfo } }) => {
        requireUserVerification(authenticationInfo.userVerified);
        if (!(await markUsed(authenticationInfo.credentialID)))
          throw new APIError('UNAUTHORIZED', { code: 'PASSKEY_NOT_FOUND', message: 'Passkey not found' });
      },
    },
  });
  const table = plugin.schema.passkey;
  const credentialID = { ...table.fields.credentialID, index: false, unique: true };
  return [{ ...plugin, schema: { passkey: { ...table, fields: { ...table.fields, credentialID } } } }];
}
