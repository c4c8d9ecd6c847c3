import { ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { Context } from '../http/context.ts';
import type { Failure } from './components/alert.ts';

/** Shows a form again: why, and with which status. */
export type Again = (status: number, failure: Failure) => void | Promise<void>;

/** What better-auth's refusals mean to who fills in a form. */
const REFUSALS: Record<string, string> = {
  INVALID_EMAIL: 'That is not an e-mail address.',
  // The e-mail is the one field that it checks for more than being a text.
  VALIDATION_ERROR: 'That is not an e-mail address.',
  PASSWORD_TOO_SHORT: 'The password is too short.',
  PASSWORD_TOO_LONG: 'The password is too long.',
  INVALID_PASSWORD: 'The current password is wrong.',
  USER_ALREADY_EXISTS: 'There is an account for this e-mail. Sign in instead.',
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: 'There is an account for this e-mail. Sign in instead.',
};

export const failureOf = (message: string): Failure => ({ message, faults: [] });

/** The code with which better-auth refuses; '' where it gives none. */
export async function codeOf(response: Response): Promise<string> {
  const body: unknown = await response.json();
  return isRecord(body) && typeof body.code === 'string' ? body.code : '';
}

export const refusalOf = (code: string): Failure =>
  failureOf(REFUSALS[code] ?? 'Please look at what you entered again.');

/** @throws when better-auth's answer is a fault of ours */
export function assertNoFault(response: Response, what: string): void {
  if (response.status >= 500) throw new Error(`${what} was answered ${response.status}`);
}

const minutes = (seconds: number): string => {
  const count = Math.ceil(seconds / 60);
  return count === 1 ? 'a minute' : `${count} minutes`;
};

/** Who tries too often is told on the form itself. */
export async function withinLimits(ctx: Context, step: () => Promise<void>, again: Again): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'rate_limited') throw error;
    const seconds = error.retryAfter ?? 1;
    ctx.set('Retry-After', String(seconds));
    await again(429, failureOf(`Too many attempts. Try again in ${minutes(seconds)}.`));
  }
}
