import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RateLimiterMongo } from 'rate-limiter-flexible';
import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { countEvent, createCounter, secondsLeft } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { addressKey } from './addressKey.ts';

/** The client that attempts to sign in, and the account. */
interface Attempt {
  address: string;
  email: string | null;
  /** Nonce of the device cookie (knownDevice.ts) if this browser has signed in to the account before; else null. */
  device: string | null;
}

/** Limits on attempts, counted across all API processes. */
export interface AttemptLimit {
  /**
   * Counts an attempt before the password is checked. Delays the attempt by 5 s while the account is under attack
   * from many addresses. @throws ServiceError rate_limited
   */
  countPasswordAttempt(attempt: Attempt): Promise<void>;
  /**
   * Counts a correct password. Removes the attempt, and the earlier wrong passwords from the same source, from the
   * counts of wrong passwords.
   */
  countCorrectPassword(attempt: Attempt): Promise<void>;
  /** Counts a sign-in with a passkey before it begins. @throws ServiceError rate_limited */
  countPasskeyAttempt(address: string): Promise<void>;
  /** Removes a successful sign-in with a passkey from the count of those that were not completed. */
  resetPasskeyAttempt(address: string): Promise<void>;
  /** Counts a sign-up. @throws ServiceError rate_limited */
  countSignUp(address: string): Promise<void>;
  /**
   * Counts an email to an address, whether or not the address belongs to a user. @throws ServiceError rate_limited
   */
  countMail(attempt: Pick<Attempt, 'address' | 'email'>): Promise<void>;
  /** Counts the registration of an OAuth client. @throws ServiceError rate_limited */
  countRegistration(address: string): Promise<void>;
  /** Counts a change of a user or of sessions, which the security log records. @throws ServiceError rate_limited */
  countChange(address: string): Promise<void>;
}

/**
 * Maximum numbers of wrong passwords in ten minutes: per client address, per account and client address, and per
 * known device (OWASP Authentication Cheat Sheet, "Protect Against Automated Attacks"). An attacker cannot lock an
 * owner out, because the owner has another address or device.
 */
const ATTEMPTS_BY_ADDRESS = 30;
const ATTEMPTS_BY_EMAIL_AND_ADDRESS = 10;
const ATTEMPTS_BY_DEVICE = 10;
/**
 * Number of wrong passwords for an account from all addresses above which every attempt from an unknown device is
 * delayed.
 */
const ATTEMPTS_BY_EMAIL = 100;
const SLOW_MS = 5000;
const ATTEMPT_WINDOW_SECONDS = 600;
/**
 * Maximum number of sign-ins with passkeys per client address that have begun and were cancelled or refused. There is no
 * limit per account, because a passkey cannot be guessed.
 */
const PASSKEYS_BY_ADDRESS = 30;
/**
 * Maximum number of checks of a password, a second factor or a passkey per client address, successful ones included,
 * because each costs a password hash, or leaves a session and an entry of the security log.
 */
const CHECKS_BY_ADDRESS = 300;
const CHECK_WINDOW_SECONDS = 3600;
/**
 * Maximum number of correct passwords per known device, and per account from all other devices. Only a holder of the
 * password can reach it.
 */
const CORRECT_BY_SOURCE = 60;
/** Maximum number of sign-ups per client address, limited because each account receives free credits. */
const SIGN_UPS_BY_ADDRESS = 20;
const SIGN_UP_WINDOW_SECONDS = 3600;
/**
 * Maximum numbers of emails to one address and on request of one client address, so that this service cannot be
 * abused to flood mailboxes.
 */
const MAILS_TO_EMAIL = 5;
const MAILS_BY_ADDRESS = 30;
const MAIL_WINDOW_SECONDS = 3600;
/**
 * Maximum number of OAuth clients that one address may register. Hosted clients register all their users from a few
 * addresses.
 */
const REGISTRATIONS_BY_ADDRESS = 60;
const REGISTRATION_WINDOW_SECONDS = 3600;
/** Maximum number of changes of users and sessions per client address, because the security log keeps each for a year. */
const CHANGES_BY_ADDRESS = 120;
const CHANGE_WINDOW_SECONDS = 3600;

/** Returns the hash of an email address for use in keys: it has a fixed length and does not reveal the address. */
export const emailKey = (email: string): string =>
  createHash('sha256').update(email.toLowerCase()).digest('base64url');

const bothKey = (email: string, address: string): string => `${emailKey(email)} ${addressKey(address)}`;

const tooMany = (retryAfter: number): ServiceError =>
  new ServiceError('rate_limited', {
    detail: 'Too many attempts in a short time.',
    retryAfter,
  });

async function consume(counter: RateLimiterMongo, key: string): Promise<void> {
  const retryAfter = await countEvent(counter, key);
  if (retryAfter !== null) throw tooMany(retryAfter);
}

/** Throws rate_limited if the key has reached the maximum, without counting. */
async function assertLeft(counter: RateLimiterMongo, key: string): Promise<void> {
  const counted = await counter.get(key);
  if (counted !== null && counted.remainingPoints <= 0) throw tooMany(secondsLeft(counted));
}

/** Key under which correct passwords are counted; null if the request names no account. */
const sourceKey = ({ device, email }: Attempt): string | null =>
  device ?? (email === null ? null : emailKey(email));

/** Creates the limits on password attempts, sign-ups and emails. @param limit null disables all limits */
export function createAttemptLimit(store: Store, limit: RateLimit | null): AttemptLimit {
  if (limit === null)
    return {
      countPasswordAttempt: async () => undefined,
      countCorrectPassword: async () => undefined,
      countPasskeyAttempt: async () => undefined,
      resetPasskeyAttempt: async () => undefined,
      countSignUp: async () => undefined,
      countMail: async () => undefined,
      countRegistration: async () => undefined,
      countChange: async () => undefined,
    };
  const counter = (name: string, max: number, seconds: number) =>
    createCounter(store, { name, max, seconds });
  const byDevice = counter('device', ATTEMPTS_BY_DEVICE, ATTEMPT_WINDOW_SECONDS);
  const byBoth = counter('email-address', ATTEMPTS_BY_EMAIL_AND_ADDRESS, ATTEMPT_WINDOW_SECONDS);
  const byEmail = counter('email', ATTEMPTS_BY_EMAIL, ATTEMPT_WINDOW_SECONDS);
  const byAddress = counter('address', ATTEMPTS_BY_ADDRESS, ATTEMPT_WINDOW_SECONDS);
  const checks = counter('check', CHECKS_BY_ADDRESS, CHECK_WINDOW_SECONDS);
  const correct = counter('correct', CORRECT_BY_SOURCE, CHECK_WINDOW_SECONDS);
  const passkeys = counter('passkey', PASSKEYS_BY_ADDRESS, ATTEMPT_WINDOW_SECONDS);
  const signUps = counter('sign-up', SIGN_UPS_BY_ADDRESS, SIGN_UP_WINDOW_SECONDS);
  const mailsTo = counter('mail-to', MAILS_TO_EMAIL, MAIL_WINDOW_SECONDS);
  const mailsBy = counter('mail-by', MAILS_BY_ADDRESS, MAIL_WINDOW_SECONDS);
  const registrations = counter('register', REGISTRATIONS_BY_ADDRESS, REGISTRATION_WINDOW_SECONDS);
  const changes = counter('change', CHANGES_BY_ADDRESS, CHANGE_WINDOW_SECONDS);
  return {
    async countPasswordAttempt(attempt) {
      const { address, email, device } = attempt;
      await consume(checks, addressKey(address));
      // Counted only when the password is correct, so that wrong passwords of others do not lock the owner out.
      const source = sourceKey(attempt);
      if (source !== null) await assertLeft(correct, source);
      if (device !== null) return consume(byDevice, device);
      await consume(byAddress, addressKey(address));
      if (email === null) return;
      await consume(byBoth, bothKey(email, address));
      const { consumedPoints } = await byEmail.penalty(emailKey(email));
      if (consumedPoints > ATTEMPTS_BY_EMAIL) await sleep(SLOW_MS);
    },
    async countCorrectPassword(attempt) {
      const { address, email, device } = attempt;
      const source = sourceKey(attempt);
      if (source !== null) await correct.penalty(source);
      if (device !== null) {
        await byDevice.delete(device);
        return;
      }
      await byAddress.reward(addressKey(address));
      if (email === null) return;
      await byBoth.delete(bothKey(email, address));
      // Removes only this attempt from the count: wrong passwords from other addresses stay counted.
      await byEmail.reward(emailKey(email));
    },
    async countPasskeyAttempt(address) {
      await consume(checks, addressKey(address));
      await consume(passkeys, addressKey(address));
    },
    async resetPasskeyAttempt(address) {
      await passkeys.reward(addressKey(address));
    },
    countSignUp: (address) => consume(signUps, addressKey(address)),
    countRegistration: (address) => consume(registrations, addressKey(address)),
    countChange: (address) => consume(changes, addressKey(address)),
    async countMail({ address, email }) {
      await consume(mailsBy, addressKey(address));
      if (email !== null) await consume(mailsTo, emailKey(email));
    },
  };
}
