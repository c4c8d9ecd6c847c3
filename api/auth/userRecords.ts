import { createHash } from 'node:crypto';
import type { AuthContext } from 'better-auth';

/** Validity of the links in emails, in seconds. */
export const LINK_SECONDS = 3600;

/** The parts of better-auth's context that this file uses. */
interface Internals extends Pick<AuthContext, 'internalAdapter'> {
  password: Pick<AuthContext['password'], 'hash' | 'verify'>;
}

/**
 * Gives access to better-auth's users, passwords and sessions by id, for operator commands and for pages that have
 * already checked the session. The endpoints of `auth.api` cannot be used for this, because they require the cookie
 * of a signed-in user.
 *
 * This is the only file that uses better-auth's `internalAdapter`, which may change in any release. Therefore
 * package.json pins the exact version, and test/api/userRecords.test.ts tests the effect of each function. These
 * functions can be replaced by endpoints of `auth.api` once those accept a user id on the server.
 */
export function createUserRecords(context: () => Promise<Internals>) {
  const activeSessions = async (userId: string) =>
    (await context()).internalAdapter.listSessions(userId, { onlyActiveSessions: true });

  async function endSessions(tokens: string[]): Promise<void> {
    await (await context()).internalAdapter.deleteSessions(tokens);
  }

  async function passwordHash(userId: string): Promise<string | null> {
    const { internalAdapter } = await context();
    const credentials = await internalAdapter.findAccounts(userId);
    return credentials.find(({ providerId }) => providerId === 'credential')?.password ?? null;
  }

  return {
    findById: async (userId: string) => (await context()).internalAdapter.findUserById(userId),

    /** Finds a user by email address, ignoring case. */
    async findByEmail(email: string) {
      const { internalAdapter } = await context();
      return (await internalAdapter.findUserByEmail(email.toLowerCase()))?.user ?? null;
    },

    /** Creates a user without a password. */
    async create(user: {
      email: string;
      name: string;
      emailVerified: boolean;
      accountId: string;
      role: string;
    }) {
      const { internalAdapter } = await context();
      return internalAdapter.createUser(user, { method: 'email-password' });
    },

    async update(userId: string, fields: Record<string, unknown>): Promise<void> {
      await (await context()).internalAdapter.updateUser(userId, fields);
    },

    async hasPassword(userId: string, password: string): Promise<boolean> {
      const hash = await passwordHash(userId);
      return hash !== null && (await context()).password.verify({ hash, password });
    },

    /** Returns a value that changes with the password; null if the user has none. */
    async passwordMark(userId: string): Promise<string | null> {
      const hash = await passwordHash(userId);
      return hash === null ? null : createHash('sha256').update(hash).digest('base64url');
    },

    /** Sets the password and ends all sessions of the user. */
    async setPassword(userId: string, password: string): Promise<void> {
      const { internalAdapter, password: hasher } = await context();
      const hash = await hasher.hash(password);
      const credential = { userId, providerId: 'credential', accountId: userId, password: hash };
      if ((await passwordHash(userId)) === null) await internalAdapter.linkAccount(credential);
      else await internalAdapter.updatePassword(userId, hash);
      await internalAdapter.deleteUserSessions(userId);
    },

    /** Returns when the token of a password reset link expires; null if the token is unknown. */
    async resetTokenExpiry(token: string): Promise<Date | null> {
      const { internalAdapter } = await context();
      return (await internalAdapter.findVerificationValue(`reset-password:${token}`))?.expiresAt ?? null;
    },

    /** Stores a value for `LINK_SECONDS`; the identifier is stored as a hash. */
    async createVerification(identifier: string, value: string): Promise<void> {
      const expiresAt = new Date(Date.now() + LINK_SECONDS * 1000);
      await (await context()).internalAdapter.createVerificationValue({ identifier, value, expiresAt });
    },

    /** Returns a stored value; null if there is none or it has expired. */
    async findVerification(identifier: string): Promise<string | null> {
      const found = await (await context()).internalAdapter.findVerificationValue(identifier);
      return found && found.expiresAt > new Date() ? found.value : null;
    },

    /** Returns and deletes a stored value: of concurrent calls, only one gets it. */
    consumeVerification: async (identifier: string): Promise<string | null> =>
      (await (await context()).internalAdapter.consumeVerificationValue(identifier))?.value ?? null,

    /** Returns at most 100 sessions. */
    activeSessions,

    endSessions,

    /** Ends the least recently used sessions of a user who has more than `most`. */
    async endSurplusSessions(userId: string, most: number): Promise<void> {
      const surplus = (await activeSessions(userId))
        .sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime())
        .slice(most);
      if (surplus.length > 0) await endSessions(surplus.map(({ token }) => token));
    },

    /** Ends all sessions of a user except this one. */
    async endOtherSessions(userId: string, sessionId: string): Promise<void> {
      // `activeSessions` returns at most 100 sessions.
      for (;;) {
        const others = (await activeSessions(userId)).filter(({ id }) => id !== sessionId);
        if (others.length === 0) return;
        await endSessions(others.map(({ token }) => token));
      }
    },
  };
}
