import { createHash } from 'node:crypto';
import { RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { Store } from '../../store/mongo.ts';
import { addressKey } from './addressKey.ts';

/** Where guesses come from, and whose password they are about. */
export interface Attempt {
  address: string;
  email: string | null;
}

/** Counts attempts for all API processes together. */
export interface AttemptLimit {
  /** Counts an attempt at a password, before it is looked at. @throws ServiceError rate_limited */
  guess(attempt: Attempt): Promise<void>;
  /** It was right: it does not count, nor do the wrong ones at this e-mail before it. */
  forgive(attempt: Attempt): Promise<void>;
  /** Counts a sign-up. @throws ServiceError rate_limited */
  signUp(address: string): Promise<void>;
  /** Counts a mail that somebody has sent to an e-mail, whether it is a user's or not. @throws ServiceError rate_limited */
  mail(attempt: Attempt): Promise<void>;
}

/** Wrong passwords in ten minutes: for one e-mail from anywhere, and from one address for any e-mail. */
const GUESSES_BY_EMAIL = 10;
const GUESSES_BY_ADDRESS = 30;
const GUESS_WINDOW_SECONDS = 600;
/** Each comes with free credits. */
const SIGN_UPS_BY_ADDRESS = 20;
const SIGN_UP_WINDOW_SECONDS = 3600;
/** So that nobody's mailbox can be filled by way of us. */
const MAILS_TO_EMAIL = 5;
const MAILS_BY_ADDRESS = 30;
const MAIL_WINDOW_SECONDS = 3600;

/** A fixed length, and no list of who tried to sign in. */
const emailKey = (email: string): string =>
  createHash('sha256').update(email.toLowerCase()).digest('base64url');

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

/** Slows down who guesses passwords, opens accounts for their free credits, or sends mail; null lifts all limits. */
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
  const byEmail = limiter('email', GUESSES_BY_EMAIL, GUESS_WINDOW_SECONDS);
  const byAddress = limiter('address', GUESSES_BY_ADDRESS, GUESS_WINDOW_SECONDS);
  const signUps = limiter('sign-up', SIGN_UPS_BY_ADDRESS, SIGN_UP_WINDOW_SECONDS);
  const mailsTo = limiter('mail-to', MAILS_TO_EMAIL, MAIL_WINDOW_SECONDS);
  const mailsBy = limiter('mail-by', MAILS_BY_ADDRESS, MAIL_WINDOW_SECONDS);
  return {
    async guess({ address, email }) {
      await consume(byAddress, addressKey(address));
      if (email !== null) await consume(byEmail, emailKey(email));
    },
    async forgive({ address, email }) {
      await byAddress.reward(addressKey(address));
      if (email !== null) await byEmail.delete(emailKey(email));
    },
    signUp: (address) => consume(signUps, addressKey(address)),
    async mail({ address, email }) {
      await consume(mailsBy, addressKey(address));
      if (email !== null) await consume(mailsTo, emailKey(email));
    },
  };
}
