import { createHash } from 'node:crypto';
import type { ObjectId } from 'mongodb';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { OPERATOR, recordSecurity } from '../accounts/securityLog.ts';
import type { Store } from '../mongo/mongo.ts';

/**
 * The second factor of a user, which better-auth stores: the secret of the authenticator app and the backup codes, both
 * encrypted.
 */
interface TwoFactorDoc {
  _id: ObjectId;
  secret: string;
  backupCodes: string;
}

/** Fields that are encrypted. */
export const SEALED = ['secret', 'backupCodes'] as const;

export const twoFactorsOf = ({ db }: Pick<Store, 'db'>) => db.collection<TwoFactorDoc>('twoFactors');

/**
 * Number by which better-auth knows a master key: 48 bits of the hash of its id, because better-auth accepts only whole
 * numbers.
 */
export const versionOf = (keyId: string): number =>
  Number.parseInt(createHash('sha256').update(keyId).digest('hex').slice(0, 12), 16);

/**
 * The secrets of better-auth, one derived from each master key. It signs and encrypts with the first and decrypts with any
 * of them.
 */
export const authSecrets = (keyring: Keyring): { version: number; value: string }[] =>
  keyring.ids.map((id) => ({
    version: versionOf(id),
    value: keyring.derive('session', id).toString('base64url'),
  }));

/** Number of the master key that encrypted a value, from better-auth's format `$ba$<version>$<ciphertext>`. */
export const versionOfSealed = (sealed: string): number => Number(/^\$ba\$(\d+)\$/.exec(sealed)?.[1] ?? -1);

/** Counts the second factors that each master key encrypts. Keys are known once a process has used them. */
export async function countTwoFactors(
  store: Pick<Store, 'db' | 'masterKeys'>,
  keyring: Keyring,
): Promise<Map<string, number>> {
  const known = await store.masterKeys.find().toArray();
  const ids = new Map([...keyring.ids, ...known.map(({ _id }) => _id)].map((id) => [versionOf(id), id]));
  const counts = new Map<string, number>();
  const fields = { secret: 1, backupCodes: 1 };
  for await (const row of twoFactorsOf(store).find({}, { projection: fields })) {
    const versions = SEALED.map((field) => versionOfSealed(row[field]));
    for (const version of new Set(versions)) {
      const keyId = ids.get(version) ?? 'unknown';
      counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
    }
  }
  return counts;
}

/**
 * Turns off two-factor authentication for the user with this email address, who has lost the authenticator app and the
 * backup codes.
 *
 * @returns false if there is no such user
 */
export async function removeTwoFactor(store: Store, email: string): Promise<boolean> {
  return store.transaction(async (session) => {
    const user = await store.db
      .collection('users')
      .findOneAndUpdate({ email: email.toLowerCase() }, { $set: { twoFactorEnabled: false } }, { session });
    if (user === null) return false;
    const { _id, accountId } = user;
    const { deletedCount } = await store.db
      .collection('twoFactors')
      .deleteMany({ userId: { $in: [_id, String(_id)] } }, { session });
    if (deletedCount > 0)
      await recordSecurity(
        store,
        { accountId: String(accountId), kind: 'two_factor_disabled', actor: OPERATOR },
        session,
      );
    return true;
  });
}
