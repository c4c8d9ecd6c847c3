import { createHash, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import { type DigestKeys, digestKeys, digestSecret } from './digests.ts';
import { openPrivateKey, sealPrivateKey } from './privateKeys.ts';
import type { ReceiptKeyDoc } from './receiptDocs.ts';

/** A key with which receipts are signed (Ed25519, RFC 8032). */
interface SigningKey {
  /** Receipts name it as `kid`. */
  id: string;
  sign(data: string): Buffer;
}

/** The keys of receipts, which all processes of the installation share. */
export interface ReceiptKeys {
  /** Returns the keys of the digests of a new call, without a request to the database. */
  digestKeysOf(callId: string): DigestKeys;
  /** Returns the keys of the digests of an earlier call. @param number that of the receipt key which its digests name */
  findDigestKeys(callId: string, number: number): Promise<DigestKeys>;
  /** Returns the key that signs now. */
  signingKey(): Promise<SigningKey>;
  /** The keys with which receipts are verified, oldest first. */
  published(): Promise<readonly ReceiptKeyDoc[]>;
}

type Keys = Pick<Store, 'receiptKeys'>;
type Published = readonly [ReceiptKeyDoc, ...ReceiptKeyDoc[]];

/**
 * Time in milliseconds for which a new key is published before it signs, so that everyone who keeps a copy of the published
 * keys knows it by then.
 */
const PUBLISHED_FIRST_MS = 600_000;

/** Thumbprint of a public key (RFC 7638): the hash of its required members in alphabetical order. */
const thumbprint = (x: string): string =>
  createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url');

/** Returns all keys, oldest first. */
export const listReceiptKeys = ({ receiptKeys }: Keys): Promise<ReceiptKeyDoc[]> =>
  receiptKeys.find().sort({ number: 1 }).toArray();

/**
 * Adds a key after `keys`, which are all that there are. It signs from ten minutes later on, or at once if it is the only one.
 *
 * @throws if another process has added one since `keys` were read: the index on `number` is unique
 */
async function addKeyAfter(
  keys: readonly ReceiptKeyDoc[],
  store: Keys,
  keyring: Keyring,
): Promise<ReceiptKeyDoc> {
  const newest = keys.at(-1);
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const { x = '' } = jwk;
  const _id = thumbprint(x);
  const row = {
    _id,
    number: (newest?.number ?? 0) + 1,
    x,
    sealed: sealPrivateKey(keyring, _id, jwk),
    createdAt: new Date(),
    revokedAt: null,
  };
  await store.receiptKeys.insertOne(row);
  return row;
}

/**
 * Adds a key. It signs from ten minutes later on, or at once if it is the only one.
 *
 * @throws if another process has added one at the same time
 */
export const addReceiptKey = async (store: Keys, keyring: Keyring): Promise<ReceiptKeyDoc> =>
  addKeyAfter(await listReceiptKeys(store), store, keyring);

/**
 * Revokes a key: it signs no more, and the receipts that it has signed can no longer be verified. Owners can request them again,
 * signed with another key. @returns false if there is no such key
 */
export async function revokeReceiptKey({ receiptKeys }: Keys, id: string): Promise<boolean> {
  const { matchedCount } = await receiptKeys.updateOne({ _id: id }, [
    { $set: { revokedAt: { $ifNull: ['$revokedAt', '$$NOW'] } } },
  ]);
  return matchedCount > 0;
}

/** Returns the keys that are not revoked, oldest first. Adds one if there is none. */
async function publishedKeys(store: Keys, keyring: Keyring): Promise<Published> {
  for (;;) {
    const keys = await listReceiptKeys(store);
    const [first, ...others] = keys.filter(({ revokedAt }) => revokedAt === null);
    if (first !== undefined) return [first, ...others];
    await addKeyAfter(keys, store, keyring).catch((error: unknown) => {
      if (!isDuplicate(error)) throw error;
    });
  }
}

/** Chooses the key that signs: the newest of those that have been published for long enough, or else the oldest. */
export const chooseKey = (published: Published, now: Date): ReceiptKeyDoc =>
  published.findLast(({ createdAt }) => now.getTime() - createdAt.getTime() >= PUBLISHED_FIRST_MS) ??
  published[0];

/** Opens the keys, and creates the first one in a new installation. */
export async function openReceiptKeys(store: Keys, keyring: Keyring): Promise<ReceiptKeys> {
  const published = () => publishedKeys(store, keyring);
  const current = chooseKey(await published(), new Date());
  const secret = digestSecret(openPrivateKey(keyring, current));
  return {
    published,
    digestKeysOf: (callId) => digestKeys(secret, current.number, callId),

    async findDigestKeys(callId, number) {
      const row = await store.receiptKeys.findOne({ number });
      if (row === null) throw new Error(`there is no receipt key ${number}`);
      return digestKeys(digestSecret(openPrivateKey(keyring, row)), number, callId);
    },

    async signingKey() {
      const row = chooseKey(await published(), new Date());
      const key = createPrivateKey({ key: openPrivateKey(keyring, row), format: 'jwk' });
      return { id: row._id, sign: (data) => sign(null, Buffer.from(data), key) };
    },
  };
}
