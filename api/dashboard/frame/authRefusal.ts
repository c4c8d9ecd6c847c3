import { ServiceError } from '../../../schemas/errors.ts';
import { isRecord } from '../../../schemas/isRecord.ts';
import { USER_NOT_VERIFIED } from '../../auth/passkeyPlugin.ts';
import type { Context } from '../../http/context.ts';
import type { Failure } from '../components/alert.ts';

/** Shows the form again with an error message and a status. */
export type ShowForm = (status: number, failure: Failure) => void | Promise<void>;

/** Messages for better-auth's error codes. */
const REFUSALS: Record<string, string> = {
  INVALID_EMAIL: 'Enter a valid email address.',
  // better-auth validates the format of the email address only.
  VALIDATION_ERROR: 'Enter a valid email address.',
  PASSWORD_TOO_SHORT: 'The password is too short.',
  PASSWORD_TOO_LONG: 'The password is too long.',
  INVALID_PASSWORD: 'The current password is wrong.',
  INVALID_CODE: 'The code is wrong. Enter the code that the app shows now.',
  INVALID_BACKUP_CODE: 'The code is wrong, or the backup code was used before.',
  ACCOUNT_TEMPORARILY_LOCKED: 'Too many wrong codes. Try again in 15 minutes.',
  CHALLENGE_NOT_FOUND: 'The request has expired. Try again.',
  PASSKEY_NOT_FOUND: 'This passkey is not registered here, or has been removed. Sign in with your password.',
  AUTHENTICATION_FAILED: 'The passkey was not accepted. Try again, or sign in with your password.',
  FAILED_TO_VERIFY_REGISTRATION: 'The passkey was not accepted. Try again.',
  [USER_NOT_VERIFIED]:
    'Your device has not checked that it is you. Set up its screen lock, or the PIN of the security key, then try again.',
  TOTP_ALREADY_ENABLED: 'Two-factor authentication is already on.',
  USER_ALREADY_EXISTS: 'An account with this email address already exists. Sign in instead.',
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL:
    'An account with this email address already exists. Sign in instead.',
};

export const failureOf = (message: string): Failure => ({ message, faults: [] });

/** The error code of better-auth's response, or ''. */
export async function codeOf(response: Response): Promise<string> {
  const body: unknown = await response.json();
  return isRecord(body) && typeof body.code === 'string' ? body.code : '';
}

export const refusalOf = (code: string): Failure =>
  failureOf(REFUSALS[code] ?? 'The form is invalid. Check what you entered.');

/** @throws if better-auth responded with an internal error */
export function assertNoFault(response: Response, path: string): void {
  if (response.status >= 500) throw new Error(`better-auth responded to ${path} with ${response.status}`);
}

const minutes = (seconds: number): string => {
  const count = Math.ceil(seconds / 60);
  return count === 1 ? 'a minute' : `${count} minutes`;
};

/** Runs a step and shows `rate_limited` as a message on the form. */
export async function withinLimits(
  ctx: Context,
  step: () => Promise<void>,
  showForm: ShowForm,
): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'rate_limited') throw error;
    const seconds = error.retryAfter ?? 1;
    ctx.set('Retry-After', String(seconds));
    await showForm(429, failureOf(`Too many attempts. Try again in ${minutes(seconds)}.`));
  }
}
