import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { Store } from '../../store/mongo.ts';
import { addressKey } from './addressKey.ts';

/** Where guesses come from, and the account whose password they are for. */
export interface Attempt {
  address: string;
  email: string | null;
  /** Nonce of a browser that has signed in to this account before; see `knownDevice.ts`. */
  device: string | null;
}

/** Counts attempts for all API processes together. */
export interface AttemptLimit {
  /**
   * Counts an attempt at a password, before the password is checked. Takes 5 s when the account is under attack from many
   * addresses. @throws ServiceError rate_limited
   */
  guess(attempt: Attempt): Promise<void>;
  /** The password was right: the attempt does not count, nor do the wrong ones from the same place before it. */
  forgive(attempt: Attempt): Promise<void>;
  /** Counts a sign-up. @throws ServiceError rate_limited */
  signUp(address: string): Promise<void>;
  /** Counts a mail to an e-mail address, whether it is a user's or not. @throws ServiceError rate_limited */
  mail(attempt: Pick<Attempt, 'address' | 'email'>): Promise<void>;
}

/**
 * Wrong passwords in ten minutes, by address, by account and address, and by known device (OWASP Authentication Cheat
 * Sheet, "Protect Against Automated Attacks"). None of these lets a stranger lock an owner out: the owner's address or
 * device is another one.
 */
const GUESSES_BY_ADDRESS = 30;
const GUESSES_BY_EMAIL_AND_ADDRESS = 10;
const GUESSES_BY_DEVICE = 10;
/** From all addresses together, beyond which every attempt from an unknown device takes longer, right or wrong. */
const GUESSES_BY_EMAIL = 100;
const SLOW_MS = 5000;
const GUESS_WINDOW_SECONDS = 600;
/** Each comes with free credits. */
const SIGN_UPS_BY_ADDRESS = 20;
const SIGN_UP_WINDOW_SECONDS = 3600;
/** So that nobody's mailbox can be filled by way of us. */
const MAILS_TO_EMAIL = 5;
const MAILS_BY_ADDRESS = 30;
const MAIL_WINDOW_SECONDS = 3600;

/** Hashed, so that keys have a fixed length and hold no e-mail address. */
export const emailKey = (email: string): string =>
  createHash('sha256').update(email.toLowerCase()).digest('base64url');

const bothKey = (email: string, address: string): string => `${emailKey(email)} ${addressKey(address)}`;

async function consume(limiter: RateLimiterMongo, key: string): Promise<void> {
  try {
    await limiter.consume(key);
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error;
    throw new ServiceError('rate_limited', {
      detail: 'Too many attempts. Retry after the number of seconds in Retry-After.',
      retryAfter: Math.max(1, Math.ceil(error.msBeforeNext / 1000)),
    });
  }
}

/** Limits password guesses, sign-ups and mails; null lifts all limits. */
export function createAttemptLimit(store: Store, limit: RateLimit | null): AttemptLimit {
  if (limit === null)
    return {
      guess: async () => undefined,
      forgive: async () => undefined,
      signUp: async () => undefined,
      mail: async () => undefined,
    };
  const limiter = (keyPrefix: string, points: number, duration: number) =>
    new RateLimiterMongo({
      storeClient: store.client,
      dbName: store.db.databaseName,
      tableName: 'attempts',
      keyPrefix,
      points,
      duration,
    });
  const byDevice = limiter('device', GUESSES_BY_DEVICE, GUESS_WINDOW_SECONDS);
  const byBoth = limiter('email-address', GUESSES_BY_EMAIL_AND_ADDRESS, GUESS_WINDOW_SECONDS);
  const byEmail = limiter('email', GUESSES_BY_EMAIL, GUESS_WINDOW_SECONDS);
  const byAddress = limiter('address', GUESSES_BY_ADDRESS, GUESS_WINDOW_SECONDS);
  const signUps = limiter('sign-up', SIGN_UPS_BY_ADDRESS, SIGN_UP_WINDOW_SECONDS);
  const mailsTo = limiter('mail-to', MAILS_TO_EMAIL, MAIL_WINDOW_SECONDS);
  const mailsBy = limiter('mail-by', MAILS_BY_ADDRESS, MAIL_WINDOW_SECONDS);
  return {
    async guess({ address, email, device }) {
      if (device !== null) return consume(byDevice, device);
      await consume(byAddress, addressKey(address));
      if (email === null) return;
      await consume(byBoth, bothKey(email, address));
      const { consumedPoints } = await byEmail.penalty(emailKey(email));
      if (consumedPoints > GUESSES_BY_EMAIL) await sleep(SLOW_MS);
    },
    async forgive({ address, email, device }) {
      if (device !== null) {
        await byDevice.delete(device);
        return;
      }
      await byAddress.reward(addressKey(address));
      if (email === null) return;
      await byBoth.delete(bothKey(email, address));
      // The wrong ones of others still count.
      await byEmail.reward(emailKey(email));
    },
    signUp: (address) => consume(signUps, addressKey(address)),
    async mail({ address, email }) {
      await consume(mailsBy, addressKey(address));
      if (email !== null) await consume(mailsTo, emailKey(email));
    },
  };
}
