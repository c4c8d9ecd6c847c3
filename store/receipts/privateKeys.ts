import type { JsonWebKey } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Store } from '../mongo/mongo.ts';
import type { ReceiptKeyDoc } from './receiptDocs.ts';

type SealedKey = Pick<ReceiptKeyDoc, '_id' | 'sealed'>;

const PURPOSE = 'receipt-key';

const masterKeyOf = (keyring: Keyring, sealed: string): string =>
  keyring.keyIdOf(Buffer.from(sealed, 'base64'));

/** Encrypts the private key of a receipt key. It can be decrypted only with the id of the receipt key. */
export const sealPrivateKey = (keyring: Keyring, id: string, jwk: JsonWebKey): string =>
  keyring.seal(PURPOSE, id, Buffer.from(JSON.stringify(jwk))).toString('base64');

export const openPrivateKey = (keyring: Keyring, { _id, sealed }: SealedKey): JsonWebKey =>
  JSON.parse(keyring.open(PURPOSE, _id, Buffer.from(sealed, 'base64')).toString());

/** Counts the receipt keys that each master key encrypts. */
export async function countReceiptKeys(
  { receiptKeys }: Pick<Store, 'receiptKeys'>,
  keyring: Keyring,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const { sealed } of receiptKeys.find({}, { projection: { sealed: 1 } })) {
    const keyId = masterKeyOf(keyring, sealed);
    counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
  }
  return counts;
}

/** Re-encrypts the receipt keys that older master keys encrypted with the current one. @returns the number of changed keys */
export async function rewrapReceiptKeys(
  { receiptKeys }: Pick<Store, 'receiptKeys'>,
  keyring: Keyring,
): Promise<number> {
  let rewrapped = 0;
  for await (const row of receiptKeys.find()) {
    const { _id, sealed } = row;
    if (masterKeyOf(keyring, sealed) === keyring.currentId) continue;
    const fresh = sealPrivateKey(keyring, _id, openPrivateKey(keyring, row));
    rewrapped += (await receiptKeys.updateOne({ _id, sealed }, { $set: { sealed: fresh } })).modifiedCount;
  }
  return rewrapped;
}
