import { createHash, randomInt, randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { ServiceError } from '../schemas/errors.ts';
import { insertEvent, newEvent } from './events.ts';
import type { ApiKeyDoc, Store } from './mongo.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECK_LENGTH = 6;
/** Format of a key: `ut_`, then `RANDOM_LENGTH` and `CHECK_LENGTH` characters of the alphabet. */
const SHAPE = /^ut_[0-9A-Za-z]{36}$/;
/** Number of leading characters that are stored and shown, so that owners can tell keys apart. */
const PREFIX_LENGTH = 9;
/** Maximum number of live keys (neither revoked nor expired) per account. */
const MAX_LIVE_KEYS = 50;
/** Interval at which the times of last use are written to MongoDB, in one batch. */
const LAST_USED_INTERVAL_MS = 5000;

/** CRC-32 (as in zlib) of the random part, in base62, most significant digit first. */
function checksum(random: string): string {
  let value = crc32(random);
  let digits = '';
  for (let i = 0; i < CHECK_LENGTH; i++) {
    digits = ALPHABET.charAt(value % 62) + digits;
    value = Math.floor(value / 62);
  }
  return digits;
}

/**
 * Generates `ut_`, 30 random base62 characters (178 bits) and a 6-character checksum that detects mistyped keys
 * offline.
 */
export function generateKey(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET.charAt(randomInt(62))).join('');
  return `ut_${random}${checksum(random)}`;
}

/** Whether the text has the format and checksum of a key. Does not read the database. */
export function isWellFormedKey(text: string): boolean {
  return SHAPE.test(text) && checksum(text.slice(3, 3 + RANDOM_LENGTH)) === text.slice(3 + RANDOM_LENGTH);
}

/**
 * Hashes a key for storage. SHA-256 suffices: 178 random bits cannot be guessed, so a slow password hash adds
 * nothing.
 */
const hashKey = (key: string): string => createHash('sha256').update(key).digest('hex');

export interface NewKey {
  /** Default: a new random id. */
  id?: string;
  accountId: string;
  name: string;
  scope: 'tools' | 'account';
  tools: string[] | null;
  expiresAt: Date | null;
}

export interface ApiKeys {
  /**
   * Returns the live key, or null if it is unknown, revoked or expired. Not cached, so revocation takes effect at
   * once.
   */
  authenticate(key: string): Promise<ApiKeyDoc | null>;
  /**
   * Creates a key and its `api_key.created` event.
   *
   * @throws ServiceError limit_reached; not_found if the account does not exist
   * @throws a duplicate-key error (`isDuplicate`) if the id is in use
   */
  create(key: NewKey): Promise<{ row: ApiKeyDoc; key: string }>;
  /**
   * Revokes a key and creates its event; no-op if the key is already revoked.
   *
   * @throws ServiceError not_found, also for other accounts' keys
   */
  revoke(accountId: string, id: string): Promise<void>;
  /** Writes the pending times of last use to MongoDB. */
  flush(): Promise<void>;
}

export function createApiKeys(store: Store, onError: (error: unknown) => void): ApiKeys {
  const { apiKeys } = store;
  const used = new Map<string, Date>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  async function write(): Promise<void> {
    const due = [...used];
    used.clear();
    if (due.length === 0) return;
    await apiKeys.bulkWrite(
      due.map(([_id, at]) => ({ updateOne: { filter: { _id }, update: { $max: { lastUsedAt: at } } } })),
      { ordered: false },
    );
  }

  /** Writes the pending times of last use. Writes are serialised, so awaiting the last one awaits all. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write, write);
    return writing;
  }

  const event = (row: ApiKeyDoc, kind: 'api_key.created' | 'api_key.revoked') =>
    newEvent(row.accountId, kind, { keyId: row._id, name: row.name, prefix: row.prefix });

  return {
    flush,

    async authenticate(key) {
      if (!isWellFormedKey(key)) return null;
      const row = await apiKeys.findOne({ hash: hashKey(key) });
      const now = new Date();
      if (row === null || row.revokedAt !== null || (row.expiresAt !== null && row.expiresAt <= now))
        return null;
      used.set(row._id, now);
      timer ??= setTimeout(() => flush().catch(onError), LAST_USED_INTERVAL_MS).unref();
      return row;
    },

    async create({ id = `key_${randomUUID()}`, ...newKey }) {
      const key = generateKey();
      const row: ApiKeyDoc = {
        _id: id,
        ...newKey,
        hash: hashKey(key),
        prefix: key.slice(0, PREFIX_LENGTH),
        createdAt: new Date(),
        lastUsedAt: null,
        revokedAt: null,
      };
      await store.transaction(async (session) => {
        // Forces concurrent creations to conflict, so that the count below stays exact.
        const { matchedCount } = await store.accounts.updateOne(
          { _id: row.accountId },
          { $inc: { keysMade: 1 } },
          { session },
        );
        if (matchedCount === 0) throw new ServiceError('not_found');
        // The insert precedes the count, so that a repeated creation fails with a duplicate-key error and not with
        // `limit_reached`.
        await apiKeys.insertOne(row, { session });
        const live = await apiKeys.countDocuments(
          {
            accountId: row.accountId,
            revokedAt: null,
            $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date() } }],
          },
          { session },
        );
        if (live > MAX_LIVE_KEYS)
          throw new ServiceError('limit_reached', {
            detail: `The account has reached its limit of ${MAX_LIVE_KEYS} live keys. Revoke one first.`,
          });
        await insertEvent(store, event(row, 'api_key.created'), session);
      });
      return { row, key };
    },

    async revoke(accountId, id) {
      await store.transaction(async (session) => {
        const row = await apiKeys.findOneAndUpdate(
          { _id: id, accountId, revokedAt: null },
          { $set: { revokedAt: new Date() } },
          { session, returnDocument: 'after' },
        );
        if (row !== null) await insertEvent(store, event(row, 'api_key.revoked'), session);
        else if ((await apiKeys.countDocuments({ _id: id, accountId }, { session })) === 0)
          throw new ServiceError('not_found');
      });
    },
  };
}
