import { ObjectId } from 'mongodb';
import type { Store } from '../mongo/mongo.ts';
import type { PasskeyDoc } from './securityDocs.ts';
import { type Actor, OPERATOR, recordSecurity } from './securityLog.ts';

/** Maximum number of passkeys per user. */
export const MAX_PASSKEYS = 20;

/** A passkey as its owner sees it. */
export interface Passkey {
  id: string;
  name: string;
  createdAt: Date;
  /** Time of the last sign-in with it; null if there was none. */
  lastUsedAt: Date | null;
}

/** The owner of a passkey, and the request that changes it. */
interface Owner {
  userId: string;
  accountId: string;
  actor: Actor;
}

/** Passkeys by user. better-auth stores them after it has verified them; the rest is here. */
interface Passkeys {
  /** Lists the passkeys of a user, oldest first. */
  list(userId: string): Promise<Passkey[]>;
  /** Returns null if the user has no such passkey. */
  find(userId: string, id: string): Promise<Passkey | null>;
  /** Changes the name. @returns false if the user has no such passkey */
  rename(owner: Owner, id: string, name: string): Promise<boolean>;
  /** Deletes a passkey, which ends sign-ins with it. @returns the passkey; null if the user has none with this id */
  remove(owner: Owner, id: string): Promise<Passkey | null>;
  /** Records a sign-in with a passkey. @returns false if it has been removed */
  markUsed(credentialId: string): Promise<boolean>;
}

const passkeyOf = ({ _id, name, createdAt, lastUsedAt }: PasskeyDoc): Passkey => ({
  id: String(_id),
  name,
  createdAt,
  lastUsedAt: lastUsedAt ?? null,
});

export function createPasskeys(store: Pick<Store, 'passkeys' | 'securityEvents' | 'transaction'>): Passkeys {
  const { passkeys } = store;

  /** Filter for a passkey of a user; null if the id, which comes from a path, is malformed. */
  const one = (userId: string, id: string) =>
    ObjectId.isValid(id) ? { _id: new ObjectId(id), userId: new ObjectId(userId) } : null;

  return {
    list: async (userId) =>
      (
        await passkeys
          .find({ userId: new ObjectId(userId) })
          .sort({ _id: 1 })
          .toArray()
      ).map(passkeyOf),

    async find(userId, id) {
      const filter = one(userId, id);
      const row = filter && (await passkeys.findOne(filter));
      return row && passkeyOf(row);
    },

    rename: ({ userId, accountId, actor }, id, name) =>
      store.transaction(async (session) => {
        const filter = one(userId, id);
        const row = filter && (await passkeys.findOneAndUpdate(filter, { $set: { name } }, { session }));
        if (row === null) return false;
        const subject = `${row.name} → ${name}`;
        await recordSecurity(store, { accountId, kind: 'passkey_renamed', actor, subject }, session);
        return true;
      }),

    remove: ({ userId, accountId, actor }, id) =>
      store.transaction(async (session) => {
        const filter = one(userId, id);
        const row = filter && (await passkeys.findOneAndDelete(filter, { session }));
        if (row === null) return null;
        const subject = row.name;
        await recordSecurity(store, { accountId, kind: 'passkey_removed', actor, subject }, session);
        return passkeyOf(row);
      }),

    async markUsed(credentialID) {
      const { matchedCount } = await passkeys.updateOne(
        { credentialID },
        { $set: { lastUsedAt: new Date() } },
      );
      return matchedCount === 1;
    },
  };
}

/**
 * Deletes all passkeys of the user with this email address, and ends the user's sessions, which may have begun with one of
 * them.
 *
 * @returns the number of deleted passkeys; null if there is no such user
 */
export async function removePasskeys(store: Store, email: string): Promise<number | null> {
  return store.transaction(async (session) => {
    const user = await store.db.collection('users').findOne({ email: email.toLowerCase() }, { session });
    if (user === null) return null;
    const { _id: userId, accountId } = user;
    const rows = await store.passkeys.find({ userId }, { session }).toArray();
    if (rows.length === 0) return 0;
    await store.passkeys.deleteMany({ userId }, { session });
    await store.db.collection('sessions').deleteMany({ userId }, { session });
    for (const { name: subject } of rows)
      await recordSecurity(
        store,
        { accountId: String(accountId), kind: 'passkey_removed', actor: OPERATOR, subject },
        session,
      );
    return rows.length;
  });
}
