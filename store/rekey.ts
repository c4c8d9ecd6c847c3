import type { Keyring } from './keyring.ts';
import type { Store } from './mongo.ts';
import { openSecret, sealSecret } from './webhookEndpoints.ts';

const keyIdOf = (keyring: Keyring, sealed: string): string => keyring.keyIdOf(Buffer.from(sealed, 'base64'));

/** Seals every webhook secret that an older master key sealed with the current one. @returns how many there were */
export async function rewrapSecrets({ webhookEndpoints }: Store, keyring: Keyring): Promise<number> {
  let rewrapped = 0;
  for await (const { _id, secret, next } of webhookEndpoints.find()) {
    for (const [field, sealed] of [
      ['secret', secret],
      ['next.secret', next?.secret],
    ] as const) {
      if (sealed === undefined || keyIdOf(keyring, sealed) === keyring.currentId) continue;
      const fresh = sealSecret(keyring, _id, openSecret(keyring, _id, sealed));
      const { modifiedCount } = await webhookEndpoints.updateOne(
        { _id, [field]: sealed },
        { $set: { [field]: fresh } },
      );
      rewrapped += modifiedCount;
    }
  }
  return rewrapped;
}

/** What needs a master key. */
export interface References {
  key: string;
  webhookSecrets: number;
  /** Of the last day, by which a repeated call is recognised. */
  idempotencyKeys: number;
}

/** How much each master key is needed for, beside payloads and results, which end by themselves. */
export async function countReferences(
  { webhookEndpoints, calls }: Store,
  keyring: Keyring,
): Promise<References[]> {
  const found = new Map<string, References>();
  const of = (key: string): References => {
    const known = found.get(key) ?? { key, webhookSecrets: 0, idempotencyKeys: 0 };
    found.set(key, known);
    return known;
  };
  for await (const { secret, next } of webhookEndpoints.find())
    for (const sealed of next === null ? [secret] : [secret, next.secret])
      of(keyIdOf(keyring, sealed)).webhookSecrets += 1;
  const prints = calls.aggregate<{ _id: string; count: number }>([
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
