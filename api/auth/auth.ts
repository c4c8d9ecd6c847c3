import { randomUUID } from 'node:crypto';
import { mongodbAdapter } from '@better-auth/mongo-adapter';
import { APIError } from 'better-auth/api';
import { betterAuth } from 'better-auth/minimal';
import type { Logger } from 'pino';
import type { Env } from '../../schemas/env.ts';
import type { Accounts } from '../../store/accounts.ts';
import type { Keyring } from '../../store/keyring.ts';
import type { Store } from '../../store/mongo.ts';
import type { Mails } from '../mail/messages.ts';

/** An owner sees an account; an operator may also read what lies encrypted in Temporal. */
export type Role = 'owner' | 'operator';

/** Somebody who signs in with e-mail and password. */
export interface User {
  id: string;
  email: string;
  accountId: string;
  role: Role;
}

/** Who is signed in, and the cookies that prolong the session, if any. */
export interface SignedIn {
  user: User;
  sessionId: string;
  /** Comes back with every form of this session, which no other site's page can know. */
  formToken: string;
  setCookie: string[];
}

/** One browser that somebody is signed in with. */
export interface Session {
  id: string;
  /** What it called itself at the sign-in; so with the address. */
  userAgent: string;
  address: string;
  createdAt: Date;
  /** To the hour. */
  lastUsedAt: Date;
}

export interface Auth {
  /** Answers a request for one of better-auth's own paths under /api/auth. @throws what is our fault */
  handler(request: Request): Promise<Response>;
  /** Who the cookie in the headers belongs to. */
  signedIn(headers: Headers): Promise<SignedIn | null>;
  find(email: string): Promise<User | null>;
  /** Gives an account somebody who can sign in; for operators, who vouch for the e-mail. */
  createUser(user: Omit<User, 'id'> & { name: string; password: string }): Promise<User>;
  /** Like `createUser`. */
  setRole(userId: string, role: Role): Promise<void>;
  hasPassword(userId: string, password: string): Promise<boolean>;
  /** Ends the sessions that the old one opened. */
  setPassword(userId: string, password: string): Promise<void>;
  /** Whether the link for a new password still works. */
  mayReset(token: string): Promise<boolean>;
  /** Those of a user that go on, the one used last first. */
  sessions(userId: string): Promise<Session[]>;
  /** @returns false when the user has no such session */
  endSession(userId: string, sessionId: string): Promise<boolean>;
  endOtherSessions(userId: string, sessionId: string): Promise<void>;
}

interface Dependencies {
  env: Pick<Env, 'FREE_CREDITS' | 'PUBLIC_URL'>;
  store: Store;
  accounts: Accounts;
  keyring: Keyring;
  /** Null for programs that tell nobody anything. */
  mails: Mails | null;
  log: Logger;
}

/** The header that carries the caller's address to better-auth; whatever a caller sends under this name is replaced. */
export const ADDRESS_HEADER = 'x-client-address';

/** How long the link in a mail works. */
const LINK_SECONDS = 3600;
/** How often it is noted down that a session is in use. */
const USE_NOTED_SECONDS = 3600;

/** Stands in where no PUBLIC_URL is set. It is trusted as an origin, so it is one that nobody can have (RFC 6761). */
const NO_ORIGIN = 'http://unset.invalid';

const isRole = (value: unknown): value is Role => value === 'owner' || value === 'operator';

function asUser(record: Record<string, unknown>): User | null {
  const { id, email, accountId, role } = record;
  if (typeof id !== 'string' || typeof email !== 'string' || typeof accountId !== 'string' || !isRole(role))
    return null;
  return { id, email, accountId, role };
}

/**
 * Sign-in with e-mail and password by better-auth, its users, passwords and sessions in our database.
 *
 * A new user names the account that is to be theirs, and the account is opened, under that id, when the user is on
 * record and a session begins. So it is opened once, and a crash in between is made good at the next sign-in. Where mail
 * goes out a session begins only when the user's address is verified, and so do the account and its free credits.
 */
export function createAuth({ env, store, accounts, keyring, mails, log }: Dependencies): Auth {
  const verifies = mails?.delivers ?? false;
  const publicUrl = env.PUBLIC_URL === null ? null : new URL(env.PUBLIC_URL);
  const auth = betterAuth({
    appName: 'Utility Tools',
    baseURL: publicUrl?.origin ?? NO_ORIGIN,
    basePath: '/api/auth',
    secret: keyring.derive('session').toString('base64url'),
    database: mongodbAdapter(store.db, { client: store.client }),
    emailAndPassword: {
      enabled: true,
      // Also answers a sign-up with an address that is taken like any other.
      requireEmailVerification: verifies,
      onExistingUserSignUp: async ({ user }) => mails?.taken(user.email),
      ...(mails !== null && { sendResetPassword: async ({ user, token }) => mails.reset(user.email, token) }),
      resetPasswordTokenExpiresIn: LINK_SECONDS,
      revokeSessionsOnPasswordReset: true,
      // Who has the link reads the mail of that address.
      ...(verifies && { onPasswordReset: ({ user }) => update(user.id, { emailVerified: true }) }),
    },
    ...(verifies && {
      emailVerification: {
        sendVerificationEmail: async ({ user, token }) => mails?.verify(user.email, token),
        expiresIn: LINK_SECONDS,
      },
    }),
    user: {
      modelName: 'users',
      additionalFields: {
        accountId: { type: 'string', required: false, input: false },
        role: { type: 'string', required: false, input: false, defaultValue: 'owner' },
      },
    },
    session: { modelName: 'sessions', updateAge: USE_NOTED_SECONDS },
    account: { modelName: 'credentials' },
    // Hashed, so that who reads the database can follow no link.
    verification: { modelName: 'verifications', storeIdentifier: 'hashed' },
    databaseHooks: {
      user: { create: { before: nameAccount } },
      session: { create: { after: ({ userId }) => openAccount(userId) } },
    },
    // The request's URL is the one that the caller used, so its origin is our own.
    trustedOrigins: (request) => (request === undefined ? [] : [new URL(request.url).origin]),
    rateLimit: { enabled: false }, // attemptLimit.ts also counts by e-mail
    telemetry: { enabled: false },
    onAPIError: { throw: true },
    logger: {
      level: 'warn',
      // What is an error to it (a wrong origin) is none of ours; our faults are thrown, and logged where they arrive.
      log: (_level, message, ...details) => {
        const err = details.find((detail) => detail instanceof Error);
        log[err === undefined ? 'info' : 'warn']({ err }, message);
      },
    },
    advanced: {
      cookiePrefix: 'utility-tools',
      useSecureCookies: publicUrl?.protocol === 'https:',
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax' },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      // Its defaults switch both off where NODE_ENV is test.
      disableCSRFCheck: false,
      disableOriginCheck: false,
    },
  });

  /** An account that an operator made is not for the first who signs up with its e-mail. */
  async function nameAccount(user: Record<string, unknown> & { email: string }) {
    if (typeof user.accountId === 'string') return;
    if ((await accounts.findByEmail(user.email)) !== null)
      // better-auth hides this one status from who signs up, where it has the address verified.
      throw new APIError(verifies ? 'FORBIDDEN' : 'UNPROCESSABLE_ENTITY', {
        code: 'USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL',
        message: 'User already exists. Use another email.',
      });
    return { data: { accountId: `acc_${randomUUID()}` } };
  }

  async function openAccount(userId: string): Promise<void> {
    const { internalAdapter } = await auth.$context;
    const record = await internalAdapter.findUserById(userId);
    const user = record && asUser(record);
    if (!user) throw new Error(`user ${userId} has no account`);
    if ((await accounts.find(user.accountId)) === null)
      await accounts.create({ id: user.accountId, email: user.email, credits: env.FREE_CREDITS });
  }

  async function update(userId: string, fields: Record<string, unknown>): Promise<void> {
    const { internalAdapter } = await auth.$context;
    await internalAdapter.updateUser(userId, fields);
  }

  async function activeSessions(userId: string) {
    const { internalAdapter } = await auth.$context;
    return internalAdapter.listSessions(userId, { onlyActiveSessions: true });
  }

  async function passwordHash(userId: string): Promise<string | null> {
    const { internalAdapter } = await auth.$context;
    const credentials = await internalAdapter.findAccounts(userId);
    return credentials.find(({ providerId }) => providerId === 'credential')?.password ?? null;
  }

  async function setPassword(userId: string, password: string): Promise<void> {
    const { internalAdapter, password: hasher } = await auth.$context;
    const hash = await hasher.hash(password);
    const credential = { userId, providerId: 'credential', accountId: userId, password: hash };
    if ((await passwordHash(userId)) === null) await internalAdapter.linkAccount(credential);
    else await internalAdapter.updatePassword(userId, hash);
    await internalAdapter.deleteUserSessions(userId);
  }

  return {
    handler: (request) => auth.handler(request),

    async signedIn(headers) {
      const answer = await auth.api.getSession({ headers, returnHeaders: true });
      const user = answer.response && asUser(answer.response.user);
      if (!user || !answer.response) return null;
      const sessionId = answer.response.session.id;
      const formToken = keyring.mac('form', sessionId);
      return { user, sessionId, formToken, setCookie: answer.headers.getSetCookie() };
    },

    async find(email) {
      const { internalAdapter } = await auth.$context;
      const found = await internalAdapter.findUserByEmail(email.toLowerCase());
      return found && asUser(found.user);
    },

    async createUser({ password, ...user }) {
      const { internalAdapter } = await auth.$context;
      const record = await internalAdapter.createUser(
        { ...user, emailVerified: true },
        { method: 'email-password' },
      );
      const created = asUser(record);
      if (created === null) throw new Error('the user was not created as asked');
      await setPassword(created.id, password);
      return created;
    },

    setRole: (userId, role) => update(userId, { role, emailVerified: true }),

    async hasPassword(userId, password) {
      const { password: hasher } = await auth.$context;
      const hash = await passwordHash(userId);
      return hash !== null && hasher.verify({ hash, password });
    },

    setPassword,

    async mayReset(token) {
      const { internalAdapter } = await auth.$context;
      const found = await internalAdapter.findVerificationValue(`reset-password:${token}`);
      return found !== null && found.expiresAt > new Date();
    },

    async sessions(userId) {
      const rows = await activeSessions(userId);
      return rows
        .map(({ id, userAgent, ipAddress, createdAt, updatedAt }) => ({
          id,
          userAgent: userAgent ?? '',
          address: ipAddress ?? '',
          createdAt,
          lastUsedAt: updatedAt,
        }))
        .sort((a, b) => b.lastUsedAt.getTime() - a.lastUsedAt.getTime());
    },

    async endSession(userId, sessionId) {
      const { internalAdapter } = await auth.$context;
      const session = (await activeSessions(userId)).find(({ id }) => id === sessionId);
      if (session === undefined) return false;
      await internalAdapter.deleteSession(session.token);
      return true;
    },

    async endOtherSessions(userId, sessionId) {
      const { internalAdapter } = await auth.$context;
      // It lists a hundred at a time.
      for (;;) {
        const others = (await activeSessions(userId)).filter(({ id }) => id !== sessionId);
        if (others.length === 0) return;
        await internalAdapter.deleteSessions(others.map(({ token }) => token));
      }
    },
  };
}
