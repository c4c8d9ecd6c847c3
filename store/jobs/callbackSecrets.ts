import type { Keyring } from '../../platform/secrets/keyring.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { generateSigningSecret } from '../../schemas/webhookSignature.ts';
import type { Store } from '../mongo/mongo.ts';
import { openSecret, ROTATION_MS, sealSecret } from '../webhooks/webhookEndpoints.ts';
import type { CallbackSecretDoc } from './jobDocs.ts';

/** The secrets of an account in plain text. */
export interface CallbackSecret {
  secret: string;
  next: { secret: string; from: Date } | null;
}

/** The secret that signs the callbacks of an account. Each function creates it if there is none. */
export interface CallbackSecrets {
  find(accountId: string): Promise<CallbackSecretDoc>;
  read(accountId: string): Promise<CallbackSecret>;
  /** Adds a new secret, which replaces the old one after a day. @throws ServiceError rotation_pending, unless forced */
  rotate(accountId: string, force: boolean): Promise<CallbackSecret>;
}

export function createCallbackSecrets(
  { callbackSecrets }: Pick<Store, 'callbackSecrets'>,
  keyring: Keyring,
): CallbackSecrets {
  async function find(accountId: string): Promise<CallbackSecretDoc> {
    const known = await callbackSecrets.findOne({ _id: accountId });
    if (known !== null) return known;
    const secret = sealSecret(keyring, accountId, generateSigningSecret());
    const row = await callbackSecrets.findOneAndUpdate(
      { _id: accountId },
      { $setOnInsert: { secret, next: null } },
      { upsert: true, returnDocument: 'after' },
    );
    if (row === null) throw new Error('the callback secret was not created');
    return row;
  }

  /** Returns the document after a rotation whose time has come. */
  async function findCurrent(accountId: string): Promise<CallbackSecretDoc> {
    const row = await find(accountId);
    if (row.next === null || row.next.from > new Date()) return row;
    const { secret } = row.next;
    await callbackSecrets.updateOne(
      { _id: accountId, 'next.secret': secret },
      { $set: { secret, next: null } },
    );
    return find(accountId);
  }

  const opened = ({ _id, secret, next }: CallbackSecretDoc): CallbackSecret => ({
    secret: openSecret(keyring, _id, secret),
    next: next === null ? null : { secret: openSecret(keyring, _id, next.secret), from: next.from },
  });

  return {
    find,
    read: async (accountId) => opened(await findCurrent(accountId)),
    async rotate(accountId, force) {
      await findCurrent(accountId);
      const secret = sealSecret(keyring, accountId, generateSigningSecret());
      const row = await callbackSecrets.findOneAndUpdate(
        { _id: accountId, ...(force ? {} : { next: null }) },
        { $set: { next: { secret, from: new Date(Date.now() + ROTATION_MS) } } },
        { returnDocument: 'after' },
      );
      if (row === null) throw new ServiceError('rotation_pending');
      return opened(row);
    },
  };
}
