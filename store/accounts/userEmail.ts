import { isDuplicate, type Store } from '../mongo/mongo.ts';
import { hashEmail } from './closeAccount.ts';

/** Maximum number of former addresses of an account that are remembered. */
const FORMER_EMAILS = 100;

export interface EmailChange {
  accountId: string;
  /** The addresses in lower case. */
  from: string;
  to: string;
}

/**
 * Changes the email address of a user and of the account in one transaction, and marks it as verified. Links to reset
 * the password that were mailed to the old address become invalid. better-auth owns the collections `users` and
 * `verifications`; its own change of an address does not know the account.
 *
 * @returns `taken` if another user or account has the new address; `gone` if no user of the account has the old one
 */
export async function changeEmail(
  store: Store,
  { accountId, from, to }: EmailChange,
): Promise<'changed' | 'taken' | 'gone'> {
  const [users, verifications] = [store.db.collection('users'), store.db.collection('verifications')];
  try {
    return await store.transaction(async (session) => {
      // At sign-up the name of a user is the email address.
      const name = { $cond: [{ $eq: ['$name', { $literal: from }] }, { $literal: to }, '$name'] };
      const user = await users.findOneAndUpdate(
        { accountId, email: from },
        [{ $set: { email: { $literal: to }, emailVerified: true, name, updatedAt: '$$NOW' } }],
        { session, projection: { _id: 1 } },
      );
      if (user === null) return 'gone';
      await store.accounts.updateOne(
        { _id: accountId, email: from },
        {
          $set: { email: to },
          $push: { formerEmails: { $each: [hashEmail(from)], $slice: -FORMER_EMAILS } },
        },
        { session },
      );
      await verifications.deleteMany({ value: String(user._id) }, { session });
      return 'changed';
    });
  } catch (error) {
    if (isDuplicate(error)) return 'taken';
    throw error;
  }
}
