import type { Keyring } from '../../platform/secrets/keyring.ts';
import { EnvError } from '../../schemas/env.ts';
import type { Store } from '../mongo/mongo.ts';
import { countReceiptKeys } from '../receipts/privateKeys.ts';
import { countSchedules, countSecrets } from './rekey.ts';
import { countTwoFactors } from './twoFactorSecrets.ts';

const CHECKED = 'utility-tools';

/**
 * Checks at the start of a process that the keyring can decrypt stored secrets: it must have every key that encrypted
 * a webhook secret, a second factor, a receipt key or a schedule, and each of its keys must equal the key that was first used with
 * this database under the same id.
 * For the comparison the first process that uses a key stores a MAC made with it.
 *
 * @throws EnvError with one line that names the key
 */
export async function assertMasterKeys(store: Store, keyring: Keyring): Promise<void> {
  for (const keyId of keyring.ids) {
    const mac = keyring.mac('check', CHECKED, keyId);
    const known = await store.masterKeys.findOneAndUpdate(
      { _id: keyId },
      { $setOnInsert: { mac } },
      { upsert: true, returnDocument: 'after' },
    );
    if (known?.mac !== mac)
      throw new EnvError(
        `MASTER_KEYS: key "${keyId}" differs from the key with this id that encrypted this database; restore the original key`,
      );
  }
  for (const [what, counts] of [
    ['stored webhook secrets', await countSecrets(store, keyring)],
    ['second factors of users', await countTwoFactors(store, keyring)],
    ['keys of receipts', await countReceiptKeys(store, keyring)],
    ['schedules', await countSchedules(store, keyring)],
  ] as const)
    for (const [key, count] of counts)
      if (!keyring.has(key))
        throw new EnvError(`MASTER_KEYS: key "${key}" is missing; ${count} ${what} are encrypted with it`);
}
