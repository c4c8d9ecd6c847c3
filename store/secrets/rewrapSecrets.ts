import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { CallbackSecretDoc } from '../jobs/jobDocs.ts';
import type { Store } from '../mongo/mongo.ts';
import { rewrapReceiptKeys } from '../receipts/privateKeys.ts';
import { sealedInputs, sealedSnapshot, sealedTarget } from '../schedules/sealed.ts';
import { openSecret, sealSecret } from '../webhooks/webhookEndpoints.ts';
import { keyIdOf } from './rekey.ts';
import { authSecrets, SEALED, twoFactorsOf, versionOf, versionOfSealed } from './twoFactorSecrets.ts';

/**
 * Re-encrypts secrets that sign. @param replace writes a secret in place of the old one, if that is still there, and returns the
 * number of changed documents
 */
async function rewrapSigningSecrets(
  rows: AsyncIterable<CallbackSecretDoc>,
  replace: (id: string, field: 'secret' | 'next.secret', old: string, fresh: string) => Promise<number>,
  keyring: Keyring,
): Promise<number> {
  let rewrapped = 0;
  for await (const { _id, secret, next } of rows) {
    for (const [field, sealed] of [
      ['secret', secret],
      ['next.secret', next?.secret],
    ] as const) {
      if (sealed === undefined || keyIdOf(keyring, sealed) === keyring.currentId) continue;
      const fresh = sealSecret(keyring, _id, openSecret(keyring, _id, sealed));
      rewrapped += await replace(_id, field, sealed, fresh);
    }
  }
  return rewrapped;
}

async function rewrapTwoFactors(store: Store, keyring: Keyring): Promise<number> {
  const keys = new Map(authSecrets(keyring).map(({ version, value }) => [version, value]));
  const key = { keys, currentVersion: versionOf(keyring.currentId) };
  let rewrapped = 0;
  for await (const { _id, ...row } of twoFactorsOf(store).find()) {
    if (SEALED.every((field) => versionOfSealed(row[field]) === key.currentVersion)) continue;
    const rewrap = async (data: string) =>
      symmetricEncrypt({ key, data: await symmetricDecrypt({ key, data }) });
    const [secret, backupCodes] = [await rewrap(row.secret), await rewrap(row.backupCodes)];
    const { modifiedCount } = await twoFactorsOf(store).updateOne(
      { _id, secret: row.secret, backupCodes: row.backupCodes },
      { $set: { secret, backupCodes } },
    );
    rewrapped += modifiedCount;
  }
  return rewrapped;
}

/** Re-encrypts what schedules run, and the results with which they compare the next ones. They last longer than other results. */
async function rewrapSchedules({ schedules }: Pick<Store, 'schedules'>, keyring: Keyring): Promise<number> {
  let rewrapped = 0;
  for await (const { _id, last, ...schedule } of schedules.find({ deletedAt: { $exists: false } }))
    for (const [field, old, sealed] of [
      ['sealedTarget', schedule.sealedTarget, sealedTarget],
      ['sealedInputs', schedule.sealedInputs ?? undefined, sealedInputs],
      ['last.sealedSnapshot', last?.sealedSnapshot, sealedSnapshot],
    ] as const) {
      const fresh = old === undefined ? null : sealed.rewrap(keyring, _id, old);
      if (fresh === null) continue;
      const { modifiedCount } = await schedules.updateOne(
        { _id, [field]: old },
        { $set: { [field]: fresh } },
      );
      rewrapped += modifiedCount;
    }
  return rewrapped;
}

/**
 * Re-encrypts the webhook secrets, second factors, keys of receipts and schedules that older master keys encrypted with the current one.
 *
 * @returns the number of re-encrypted values
 */
export const rewrapSecrets = async (store: Store, keyring: Keyring): Promise<number> =>
  (await rewrapSigningSecrets(
    store.webhookEndpoints.find(),
    async (_id, field, old, fresh) =>
      (
        await store.webhookEndpoints.updateOne({ _id, [field]: old }, { $set: { [field]: fresh } })
      ).modifiedCount,
    keyring,
  )) +
  (await rewrapSigningSecrets(
    store.callbackSecrets.find(),
    async (_id, field, old, fresh) =>
      (
        await store.callbackSecrets.updateOne({ _id, [field]: old }, { $set: { [field]: fresh } })
      ).modifiedCount,
    keyring,
  )) +
  (await rewrapTwoFactors(store, keyring)) +
  (await rewrapReceiptKeys(store, keyring)) +
  (await rewrapSchedules(store, keyring));
