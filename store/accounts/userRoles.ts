import type { Store } from '../mongo/mongo.ts';

/**
 * Sets the role of the user who signs in with this email address. better-auth owns the collection; it reads the role with
 * each session, so that the change takes effect at once.
 *
 * @returns false if there is no such user
 */
export async function setUserRole(
  { db }: Pick<Store, 'db'>,
  email: string,
  role: 'owner' | 'operator',
): Promise<boolean> {
  const users = db.collection('users');
  // better-auth stores email addresses in lower case.
  const { matchedCount } = await users.updateOne({ email: email.toLowerCase() }, { $set: { role } });
  return matchedCount === 1;
}
