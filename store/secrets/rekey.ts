import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Store } from '../mongo/mongo.ts';
import { countReceiptKeys } from '../receipts/privateKeys.ts';
import { countTwoFactors } from './twoFactorSecrets.ts';

/** Id of the master key that encrypted a webhook secret. */
export const keyIdOf = (keyring: Keyring, sealed: string): string =>
  keyring.keyIdOf(Buffer.from(sealed, 'base64'));

/** Counts the secrets of webhook endpoints and of callbacks that each master key encrypts. */
export async function countSecrets(
  { webhookEndpoints, callbackSecrets }: Pick<Store, 'webhookEndpoints' | 'callbackSecrets'>,
  keyring: Keyring,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const projection = { secret: 1, next: 1 } as const;
  for (const rows of [webhookEndpoints.find({}, { projection }), callbackSecrets.find({}, { projection })])
    for await (const { secret, next } of rows)
      for (const sealed of next === null ? [secret] : [secret, next.secret]) {
        const keyId = keyIdOf(keyring, sealed);
        counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
      }
  return counts;
}

/** Base64 characters that contain the id of the master key: a byte and up to 255 more. */
const KEY_ID_CHARACTERS = 344;

/** Counts the schedules that each master key encrypts. */
export async function countSchedules(
  { schedules }: Pick<Store, 'schedules'>,
  keyring: Keyring,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const beginnings = schedules.aggregate<{ sealed: string }>([
    { $match: { deletedAt: { $exists: false } } },
    { $project: { sealed: { $substrBytes: ['$sealedTarget', 0, KEY_ID_CHARACTERS] } } },
  ]);
  for await (const { sealed } of beginnings) {
    const keyId = keyIdOf(keyring, sealed);
    counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
  }
  return counts;
}

/** Number of stored values that depend on a master key. */
interface References {
  key: string;
  webhookSecrets: number;
  /** Number of users whose second factor the key encrypts. */
  twoFactors: number;
  /** Number of keys that sign receipts. */
  receiptKeys: number;
  schedules: number;
  /**
   * Number of unexpired fingerprints of calls. A fingerprint is a MAC that recognises a repeated call, and expires
   * after a day.
   */
  idempotencyKeys: number;
}

/**
 * Counts the values that depend on each master key. Payloads in Temporal and stored results are not counted, because
 * they expire.
 */
export async function countReferences(store: Store, keyring: Keyring): Promise<References[]> {
  const found = new Map<string, References>();
  const of = (key: string): References => {
    const known = found.get(key) ?? {
      key,
      webhookSecrets: 0,
      twoFactors: 0,
      receiptKeys: 0,
      schedules: 0,
      idempotencyKeys: 0,
    };
    found.set(key, known);
    return known;
  };
  for (const [key, secrets] of await countSecrets(store, keyring)) of(key).webhookSecrets = secrets;
  for (const [key, users] of await countTwoFactors(store, keyring)) of(key).twoFactors = users;
  for (const [key, signing] of await countReceiptKeys(store, keyring)) of(key).receiptKeys = signing;
  for (const [key, schedules] of await countSchedules(store, keyring)) of(key).schedules = schedules;
  const prints = store.calls.aggregate<{ _id: string; count: number }>([
    {
      $match: {
        'idempotency.fingerprint': { $type: 'string' },
        'idempotency.expiresAt': { $gt: new Date() },
      },
    },
    { $group: { _id: { $first: { $split: ['$idempotency.fingerprint', ':'] } }, count: { $sum: 1 } } },
  ]);
  for await (const { _id, count } of prints) of(_id).idempotencyKeys = count;
  return [...found.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}
