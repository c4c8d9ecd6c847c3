import { createHash } from 'node:crypto';
import { isDuplicate, type Store } from '../mongo/mongo.ts';

/**
 * Records that a user has signed in with a code of an authenticator app, so that the same code is not accepted twice (RFC
 * 6238, section 5.2). Of concurrent calls for one code, one succeeds.
 *
 * @returns false if the code was used before
 */
export async function useCode(
  { usedCodes }: Pick<Store, 'usedCodes'>,
  userId: string,
  code: string,
): Promise<boolean> {
  try {
    const _id = createHash('sha256').update(`${userId} ${code}`).digest('base64url');
    await usedCodes.insertOne({ _id, at: new Date() });
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}
