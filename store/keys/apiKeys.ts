import { createHash, randomInt, randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ClientSession, Filter, UpdateFilter } from 'mongodb';
import { ServiceError } from '../../schemas/errors.ts';
import { ACCOUNT_PROJECTION, type Account } from '../accounts/accountDocs.ts';
import { type Actor, OPERATOR, recordSecurity } from '../accounts/securityLog.ts';
import { keepSpend } from '../ledger/keySpend.ts';
import type { Store } from '../mongo/mongo.ts';
import { newEvent, storeEvent } from '../webhooks/events.ts';
import type { EventDoc } from '../webhooks/webhookDocs.ts';
import type { ApiKeyDoc, KeyLimits } from './keyDocs.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECK_LENGTH = 6;
/** Format of a key: `ut_`, then `RANDOM_LENGTH` and `CHECK_LENGTH` characters of the alphabet. */
const SHAPE = /^ut_[0-9A-Za-z]{36}$/;
/** Number of leading characters that are stored and shown, so that owners can tell keys apart. */
const PREFIX_LENGTH = 9;
/** Maximum number of live keys (neither revoked nor expired) per account. */
const MAX_LIVE_KEYS = 50;
/** Maximum number of revoked and expired keys, and of revoked connections, that an account keeps. */
const MAX_DEAD_KEYS = 200;
/** Interval at which the times of last use are written to MongoDB, in one batch. */
const LAST_USED_INTERVAL_MS = 5000;
/**
 * How long the spend of a revoked or expired key is kept. Longer than a call that was accepted before can wait for its
 * reservation.
 */
const SPEND_KEPT_MS = 600_000;
/**
 * How long the spend of an expired connection is kept: as long as it counts towards a monthly budget, because the owner can
 * connect the client again.
 */
const CONNECTION_SPEND_KEPT_MS = 32 * 86_400_000;

/** Kinds of entries in the security log, by event. */
const LOGGED_AS = {
  'api_key.created': 'key_created',
  'api_key.changed': 'key_changed',
  'api_key.rotated': 'key_rotated',
  'api_key.revoked': 'key_revoked',
} as const;

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

/** Selects API keys, and not the connections in the same collection. */
export const ONLY_KEYS = { client: { $exists: false } } as const;

/** Selects keys and connections that are neither revoked nor expired. */
export const liveAt = (now: Date): Filter<ApiKeyDoc> => ({
  revokedAt: null,
  $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }],
});

/** Whether the key is neither revoked nor expired. */
export const isLive = ({ revokedAt, expiresAt }: ApiKeyDoc, now: Date): boolean =>
  revokedAt === null && (expiresAt === null || expiresAt > now);

/** A live key and its account; null if the account does not exist. */
export interface Authenticated {
  key: ApiKeyDoc;
  account: Account | null;
}

export interface NewKey extends Partial<KeyLimits> {
  /** Default: a new random id. */
  id?: string;
  accountId: string;
  name: string;
  scope: 'tools' | 'account';
  tools: string[] | null;
  expiresAt: Date | null;
}

/** Changes of a key; fields that are missing stay as they are. */
export type KeyChange = Partial<KeyLimits & Pick<ApiKeyDoc, 'name' | 'tools' | 'expiresAt'>>;

interface Rotation {
  /** How long the old secret stays valid, in milliseconds. */
  overlapMs: number;
  /** Whether to replace the new secret of a rotation whose old secret is still valid. */
  force: boolean;
}

/**
 * The changes of keys also write to the security log of the account; `actor` is by default an operator at the command
 * line.
 */
export interface ApiKeys {
  /**
   * Returns the live key with its account, or null if it is unknown, revoked or expired. `prefix` is that of the given secret.
   * Not cached, so revocation takes effect at once.
   *
   * @param onDead receives the key if it is revoked or expired, with the prefix of the given secret
   */
  authenticate(secret: string, onDead?: (row: ApiKeyDoc) => void): Promise<Authenticated | null>;
  /** Records a use of a key; the record is written to MongoDB in the next batch. @param address the client's IP address */
  recordUse(id: string, address: string): void;
  /** @throws ServiceError not_found, also for other accounts' keys */
  find(accountId: string, id: string): Promise<ApiKeyDoc>;
  /**
   * Creates a key and its `api_key.created` event.
   *
   * @throws ServiceError limit_reached; not_found if the account does not exist or is closed
   * @throws a duplicate-key error (`isDuplicate`) if the id is in use
   */
  create(key: NewKey, actor?: Actor): Promise<{ row: ApiKeyDoc; key: string }>;
  /**
   * Revokes a key and creates its event; no-op if the key is already revoked.
   *
   * @throws ServiceError not_found, also for other accounts' keys
   */
  revoke(accountId: string, id: string, actor?: Actor): Promise<void>;
  /**
   * Changes a live key and creates an `api_key.changed` event.
   *
   * @throws ServiceError not_found, also for other accounts' keys; key_inactive
   */
  change(accountId: string, id: string, change: KeyChange, actor?: Actor): Promise<ApiKeyDoc>;
  /**
   * Gives a live key a new secret and creates an `api_key.rotated` event.
   *
   * @throws ServiceError not_found, also for other accounts' keys; key_inactive, rotation_pending
   */
  rotate(
    accountId: string,
    id: string,
    rotation: Rotation,
    actor?: Actor,
  ): Promise<{ row: ApiKeyDoc; key: string }>;
  /** Writes the pending records of last use to MongoDB. */
  flush(): Promise<void>;
}

/**
 * Removes the spend of keys that can reserve no more credits, so that it does not accumulate in the account's document.
 */
export async function pruneSpend(store: Store, accountId: string, session: ClientSession): Promise<void> {
  const before = new Date(Date.now() - SPEND_KEPT_MS);
  const longBefore = new Date(Date.now() - CONNECTION_SPEND_KEPT_MS);
  const ended = [
    { revokedAt: { $lte: before } },
    { ...ONLY_KEYS, expiresAt: { $lte: before } },
    { expiresAt: { $lte: longBefore } },
  ];
  const kept = await store.apiKeys
    .find({ accountId, $nor: ended }, { session })
    .project<{ _id: string }>({ _id: 1 })
    .toArray();
  const ids = kept.map(({ _id }) => _id);
  await store.accounts.updateOne({ _id: accountId }, [{ $set: { keySpend: keepSpend(ids) } }], { session });
}

/**
 * Deletes the oldest keys and connections of an account that can no longer be used, above `MAX_DEAD_KEYS`. Their calls and
 * events name them by prefix.
 */
export async function pruneKeys(store: Store, accountId: string, session: ClientSession): Promise<void> {
  const before = new Date(Date.now() - SPEND_KEPT_MS);
  const dead = await store.apiKeys
    .find(
      { accountId, $or: [{ revokedAt: { $lte: before } }, { ...ONLY_KEYS, expiresAt: { $lte: before } }] },
      { session },
    )
    .sort({ createdAt: -1, _id: -1 })
    .skip(MAX_DEAD_KEYS)
    .project<{ _id: string }>({ _id: 1 })
    .toArray();
  if (dead.length > 0)
    await store.apiKeys.deleteMany({ _id: { $in: dead.map(({ _id }) => _id) } }, { session });
}

/** The event that reports a change of a key or connection. */
const keyEvent = (row: ApiKeyDoc, kind: keyof typeof LOGGED_AS): EventDoc =>
  newEvent(row.accountId, kind, { keyId: row._id, name: row.name, prefix: row.prefix });

/** Stores the event of a change of a key or connection, and its entry in the security log. */
export async function reportKey(
  store: Store,
  row: ApiKeyDoc,
  kind: keyof typeof LOGGED_AS,
  actor: Actor,
  session: ClientSession,
): Promise<void> {
  await storeEvent(store, keyEvent(row, kind), session);
  const { accountId, name, prefix } = row;
  const entry = { accountId, kind: LOGGED_AS[kind], actor, subject: `${name} (${prefix}…)` };
  await recordSecurity(store, entry, session);
}

/** Revokes a key or connection of an account and creates its event. @returns null if none matches or it is already revoked */
export async function revokeKey(
  store: Store,
  filter: Filter<ApiKeyDoc>,
  actor: Actor,
  session: ClientSession,
): Promise<ApiKeyDoc | null> {
  const row = await store.apiKeys.findOneAndUpdate(
    { ...filter, revokedAt: null },
    { $set: { revokedAt: new Date() }, $unset: { previous: '' } },
    { session, returnDocument: 'after' },
  );
  if (row !== null) await reportKey(store, row, 'api_key.revoked', actor, session);
  return row;
}

export function createApiKeys(store: Store, onError: (error: unknown) => void): ApiKeys {
  const { apiKeys } = store;
  const used = new Map<string, { at: Date; from: string }>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  async function write(): Promise<void> {
    const due = [...used];
    used.clear();
    if (due.length === 0) return;
    await apiKeys.bulkWrite(
      // Another API process may have written a later use already.
      due.map(([_id, { at, from }]) => ({
        updateOne: {
          filter: { _id, $or: [{ lastUsedAt: null }, { lastUsedAt: { $lt: at } }] },
          update: { $set: { lastUsedAt: at, lastUsedFrom: from } },
        },
      })),
      { ordered: false },
    );
  }

  /** Writes the pending records of last use. Writes are serialised, so awaiting the last one awaits all. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write, write);
    return writing;
  }

  async function find(accountId: string, id: string, session?: ClientSession): Promise<ApiKeyDoc> {
    const row = await apiKeys.findOne({ _id: id, accountId, ...ONLY_KEYS }, { ...(session && { session }) });
    if (row === null) throw new ServiceError('not_found');
    return row;
  }

  /** Applies an update to a live key and creates its event, within a transaction. */
  async function update(
    row: ApiKeyDoc,
    change: UpdateFilter<ApiKeyDoc>,
    kind: 'api_key.changed' | 'api_key.rotated',
    actor: Actor,
    session: ClientSession,
  ): Promise<ApiKeyDoc> {
    if (!isLive(row, new Date())) throw new ServiceError('key_inactive');
    const changed = await apiKeys.findOneAndUpdate({ _id: row._id }, change, {
      session,
      returnDocument: 'after',
    });
    if (changed === null) throw new ServiceError('not_found');
    await reportKey(store, changed, kind, actor, session);
    return changed;
  }

  return {
    flush,
    find: (accountId, id) => find(accountId, id),

    async authenticate(secret, onDead = () => undefined) {
      if (!isWellFormedKey(secret)) return null;
      const hash = hashKey(secret);
      // Each request reads both, so they share a command.
      const [found] = await apiKeys
        .aggregate<ApiKeyDoc & { account: Account[] }>([
          { $match: { $or: [{ hash }, { 'previous.hash': hash }] } },
          {
            $lookup: {
              from: store.accounts.collectionName,
              localField: 'accountId',
              foreignField: '_id',
              pipeline: [{ $project: ACCOUNT_PROJECTION }],
              as: 'account',
            },
          },
        ])
        .toArray();
      if (found === undefined) return null;
      const { account: owners, ...row } = found;
      const now = new Date();
      const { previous } = row;
      const key = row.hash === hash || previous === undefined ? row : { ...row, prefix: previous.prefix };
      const isValid = row.hash === hash || (previous !== undefined && previous.expiresAt > now);
      if (isValid && isLive(row, now)) return { key, account: owners[0] ?? null };
      onDead(key);
      return null;
    },

    recordUse(id, from) {
      used.set(id, { at: new Date(), from });
      timer ??= setTimeout(() => flush().catch(onError), LAST_USED_INTERVAL_MS).unref();
    },

    async create({ id = `key_${randomUUID()}`, ...newKey }, actor = OPERATOR) {
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
          { _id: row.accountId, closedAt: { $exists: false } },
          { $inc: { keysMade: 1 } },
          { session },
        );
        if (matchedCount === 0) throw new ServiceError('not_found');
        // The insert precedes the count, so that a repeated creation fails with a duplicate-key error and not with
        // `limit_reached`.
        await apiKeys.insertOne(row, { session });
        const live = await apiKeys.countDocuments(
          { accountId: row.accountId, ...ONLY_KEYS, ...liveAt(new Date()) },
          { session },
        );
        if (live > MAX_LIVE_KEYS)
          throw new ServiceError('limit_reached', {
            detail: `The account has reached its limit of ${MAX_LIVE_KEYS} live keys. Revoke one first.`,
          });
        await pruneSpend(store, row.accountId, session);
        await pruneKeys(store, row.accountId, session);
        await reportKey(store, row, 'api_key.created', actor, session);
      });
      return { row, key };
    },

    change: (accountId, id, change, actor = OPERATOR) =>
      store.transaction(async (session) =>
        update(await find(accountId, id, session), { $set: change }, 'api_key.changed', actor, session),
      ),

    async rotate(accountId, id, { overlapMs, force }, actor = OPERATOR) {
      const key = generateKey();
      const row = await store.transaction(async (session) => {
        const old = await find(accountId, id, session);
        const now = Date.now();
        const pending =
          old.previous !== undefined && old.previous.expiresAt.getTime() > now ? old.previous : null;
        if (isLive(old, new Date(now)) && pending !== null && !force)
          throw new ServiceError('rotation_pending');
        const { hash, prefix } = pending ?? old;
        const previous = { hash, prefix, expiresAt: new Date(now + overlapMs) };
        const secret = { hash: hashKey(key), prefix: key.slice(0, PREFIX_LENGTH) };
        const change: UpdateFilter<ApiKeyDoc> =
          overlapMs > 0 ? { $set: { ...secret, previous } } : { $set: secret, $unset: { previous: '' } };
        return update(old, change, 'api_key.rotated', actor, session);
      });
      return { row, key };
    },

    async revoke(accountId, id, actor = OPERATOR) {
      const filter = { _id: id, accountId, ...ONLY_KEYS };
      await store.transaction(async (session) => {
        if ((await revokeKey(store, filter, actor, session)) !== null) return;
        if ((await apiKeys.countDocuments(filter, { session })) === 0) throw new ServiceError('not_found');
      });
    },
  };
}
