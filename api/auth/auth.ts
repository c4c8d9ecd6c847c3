import { randomUUID } from 'node:crypto';
import { mongodbAdapter } from '@better-auth/mongo-adapter';
import { APIError } from 'better-auth/api';
import { betterAuth } from 'better-auth/minimal';
import { twoFactor } from 'better-auth/plugins/two-factor';
import type { Logger } from 'pino';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Env } from '../../schemas/env.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import { createPasskeys } from '../../store/accounts/passkeys.ts';
import { recordSecurity } from '../../store/accounts/securityLog.ts';
import { useCode } from '../../store/accounts/usedCodes.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { authSecrets } from '../../store/secrets/twoFactorSecrets.ts';
import type { Mails } from '../mail/messages.ts';
import { devicePlugins } from './devicePlugin.ts';
import { createEmailChanges, type EmailChanges } from './emailChange.ts';
import { oauthPlugin } from './oauthPlugin.ts';
import { passkeyPlugins, passkeySite } from './passkeyPlugin.ts';
import { repeatTransactions } from './repeatTransactions.ts';
import { ADDRESS_HEADER, actorOfHeaders, type RecordForUser, securityHooks } from './securityHooks.ts';
import { createUserRecords, LINK_SECONDS } from './userRecords.ts';

/** An owner manages an account. An operator may also adjust accounts and decrypt Temporal payloads. */
export type Role = 'owner' | 'operator';

/** A user who signs in with email address and password, or with a passkey. */
export interface User {
  id: string;
  email: string;
  /** The name that the user chose; at sign-up, the email address. */
  name: string;
  accountId: string;
  role: Role;
  /** Whether a sign-in needs a second factor. */
  hasTwoFactor: boolean;
}

export interface SignedIn {
  user: User;
  /** Whether the user is an operator who gets the role only with two-factor authentication. */
  needsTwoFactor: boolean;
  sessionId: string;
  /** CSRF token, which every form of this session must contain. */
  formToken: string;
  /** Set-Cookie headers that extend the session; may be empty. */
  setCookie: string[];
}

/** A session of a user, which is one signed-in browser. */
export interface Session {
  id: string;
  /** User-Agent header of the sign-in request. `address` is the client address of that request. */
  userAgent: string;
  address: string;
  createdAt: Date;
  /** When the session was last used; accurate to the hour. */
  lastUsedAt: Date;
}

export interface Auth {
  /** Handles a request to a path of better-auth under /api/auth. @throws on internal errors */
  handler(request: Request): Promise<Response>;
  /** Finds the session that the cookie in the headers belongs to. */
  signedIn(headers: Headers): Promise<SignedIn | null>;
  find(email: string): Promise<User | null>;
  /** Creates a user with a verified email address for an existing account; for operators. */
  createUser(user: Omit<User, 'id' | 'hasTwoFactor'> & { password: string }): Promise<User>;
  /** Sets the role and marks the email address as verified; for operators. */
  setRole(userId: string, role: Role): Promise<void>;
  hasPassword(userId: string, password: string): Promise<boolean>;
  /** Replaces the password and ends all sessions of the user. */
  setPassword(userId: string, password: string): Promise<void>;
  /** Whether the token of a password reset link exists and has not expired. */
  isResetTokenValid(token: string): Promise<boolean>;
  emailChanges: EmailChanges;
  /** Number of unused backup codes of a user who has a second factor. */
  backupCodesLeft(userId: string): Promise<number>;
  /** Lists the active sessions of a user, most recently used first. */
  sessions(userId: string): Promise<Session[]>;
  /** @returns false if the user has no such session */
  endSession(userId: string, sessionId: string): Promise<boolean>;
  endOtherSessions(userId: string, sessionId: string): Promise<void>;
}

interface Dependencies {
  env: Pick<Env, 'FREE_CREDITS' | 'PUBLIC_URL' | 'OPERATOR_TWO_FACTOR'>;
  store: Store;
  accounts: Accounts;
  keyring: Keyring;
  /** Null in programs that send no email. */
  mails: Pick<Mails, 'delivers' | 'reset' | 'verify' | 'accountExists'> | null;
  log: Logger;
}

/** Maximum number of sessions of a user. A sign-in above it ends the least recently used one. */
const MAX_SESSIONS = 50;
/** Minimum interval in seconds between updates of a session's last use. */
const SESSION_UPDATE_SECONDS = 3600;

/** Form of the token of a password reset link, which better-auth generates. */
const RESET_TOKEN = /^[A-Za-z0-9]{24}$/;

/** Base URL if PUBLIC_URL is unset. better-auth trusts it as an origin, so it must be unresolvable (RFC 6761). */
const NO_ORIGIN = 'http://unset.invalid';

const isRole = (value: unknown): value is Role => value === 'owner' || value === 'operator';

function asUser(record: Record<string, unknown>): User | null {
  const { id, email, name, accountId, role, twoFactorEnabled } = record;
  if (typeof id !== 'string' || typeof email !== 'string' || typeof accountId !== 'string' || !isRole(role))
    return null;
  const hasTwoFactor = twoFactorEnabled === true;
  return { id, email, name: typeof name === 'string' ? name : '', accountId, role, hasTwoFactor };
}

/**
 * Creates the sign-in with email address and password, or with a passkey. It is based on better-auth, which stores users,
 * passwords, passkeys and sessions in MongoDB.
 *
 * A new user record contains the id of its future account. The account is created under this id when the user's first
 * session starts. It is therefore created only once, and if a crash prevents its creation, the next sign-in creates
 * it. If email is configured, a session requires a verified email address, and so do the account and its free
 * credits.
 */
export function createAuth({ env, store, accounts, keyring, mails, log }: Dependencies): Auth {
  const verifies = mails?.delivers ?? false;
  const publicUrl = env.PUBLIC_URL === null ? null : new URL(env.PUBLIC_URL);
  const auth = betterAuth({
    appName: 'Utility Tools',
    baseURL: publicUrl?.origin ?? NO_ORIGIN,
    basePath: '/api/auth',
    secrets: authSecrets(keyring),
    database: repeatTransactions(mongodbAdapter(store.db, { client: store.client })),
    emailAndPassword: {
      enabled: true,
      // This also makes the response to a sign-up the same whether or not the email address is registered.
      requireEmailVerification: verifies,
      onExistingUserSignUp: async ({ user }) => mails?.accountExists(user.email),
      ...(mails !== null && { sendResetPassword: async ({ user, token }) => mails.reset(user.email, token) }),
      resetPasswordTokenExpiresIn: LINK_SECONDS,
      revokeSessionsOnPasswordReset: true,
      onPasswordReset: async ({ user }, request) => {
        await record(user.id, 'password_reset', actorOfHeaders(request?.headers));
        // Using the link proves access to the mailbox, so the email address counts as verified.
        if (verifies) await records.update(user.id, { emailVerified: true });
      },
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
    session: { modelName: 'sessions', updateAge: SESSION_UPDATE_SECONDS },
    account: { modelName: 'credentials' },
    // Tokens are stored hashed, so that read access to the database does not reveal valid links.
    verification: { modelName: 'verifications', storeIdentifier: 'hashed' },
    databaseHooks: {
      user: { create: { before: assignAccountId } },
      session: { create: { after: ({ userId }) => openAccount(userId) } },
    },
    // authRoutes.ts builds these requests with this service's own origin.
    trustedOrigins: (request) => (request === undefined ? [] : [new URL(request.url).origin]),
    rateLimit: { enabled: false }, // attemptLimit.ts replaces it and also counts by email address
    telemetry: { enabled: false },
    plugins: [
      oauthPlugin(),
      ...devicePlugins(),
      twoFactor({ schema: { twoFactor: { modelName: 'twoFactors' } } }),
      ...passkeyPlugins(passkeySite(env.PUBLIC_URL), createPasskeys(store).markUsed),
      // Its hooks must run after those of the other plugins.
      securityHooks({
        record: (...event) => record(...event),
        findChallenge: (identifier) => records.findVerification(identifier),
        useCode: (userId, code) => useCode(store, userId, code),
        endSession: (token) => records.endSessions([token]),
        endSurplusSessions: (userId) => records.endSurplusSessions(userId, MAX_SESSIONS),
        endOtherSessions: (userId, sessionId) => records.endOtherSessions(userId, sessionId),
      }),
    ],
    onAPIError: { throw: true },
    logger: {
      level: 'warn',
      // better-auth logs client errors, such as a wrong origin, as errors. Internal errors are thrown, and the caller
      // logs them.
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
      // Set explicitly, because better-auth disables both checks if NODE_ENV is `test`.
      disableCSRFCheck: false,
      disableOriginCheck: false,
    },
  });

  const records = createUserRecords(() => auth.$context);

  const record: RecordForUser = async (userId, kind, actor, subject) => {
    const found = await records.findById(userId);
    const user = found && asUser(found);
    if (user) await recordSecurity(store, { accountId: user.accountId, kind, actor, subject });
  };

  /**
   * Assigns a new account id to a new user. Refuses an email address for which an operator has created an account.
   */
  async function assignAccountId(user: Record<string, unknown> & { email: string }) {
    if (typeof user.accountId === 'string') return;
    if ((await accounts.findByEmail(user.email)) !== null)
      // If email addresses are verified, better-auth hides FORBIDDEN from the response to a sign-up.
      throw new APIError(verifies ? 'FORBIDDEN' : 'UNPROCESSABLE_ENTITY', {
        code: 'USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL',
        message: 'User already exists. Use another email.',
      });
    return { data: { accountId: `acc_${randomUUID()}` } };
  }

  async function openAccount(userId: string): Promise<void> {
    const record = await records.findById(userId);
    const user = record && asUser(record);
    if (!user) throw new Error(`user ${userId} has no account`);
    if ((await accounts.find(user.accountId)) !== null) return;
    // Closing an account, or changing its address, and signing up again must not give free credits again.
    const credits = (await accounts.isFormerEmail(user.email)) ? 0 : env.FREE_CREDITS;
    await accounts.create({ id: user.accountId, email: user.email, credits });
  }

  return {
    handler: (request) => auth.handler(request),

    async signedIn(headers) {
      const { response, headers: responseHeaders } = await auth.api.getSession({
        headers,
        returnHeaders: true,
      });
      const found = response && asUser(response.user);
      if (!found || !response) return null;
      const needsTwoFactor = env.OPERATOR_TWO_FACTOR && found.role === 'operator' && !found.hasTwoFactor;
      const user: User = needsTwoFactor ? { ...found, role: 'owner' } : found;
      const sessionId = response.session.id;
      const formToken = keyring.mac('form', sessionId);
      return { user, needsTwoFactor, sessionId, formToken, setCookie: responseHeaders.getSetCookie() };
    },

    async find(email) {
      const record = await records.findByEmail(email);
      return record && asUser(record);
    },

    async createUser({ password, ...user }) {
      const created = asUser(await records.create({ ...user, emailVerified: true }));
      if (created === null) throw new Error('better-auth returned an invalid user record');
      await records.setPassword(created.id, password);
      return created;
    },

    setRole: (userId, role) => records.update(userId, { role, emailVerified: true }),
    hasPassword: records.hasPassword,
    setPassword: records.setPassword,
    emailChanges: createEmailChanges({ store, accounts, records }),

    async backupCodesLeft(userId) {
      return (await auth.api.viewBackupCodes({ body: { userId } })).backupCodes.length;
    },

    async isResetTokenValid(token) {
      if (!RESET_TOKEN.test(token)) return false;
      const expiry = await records.resetTokenExpiry(token);
      return expiry !== null && expiry > new Date();
    },

    async sessions(userId) {
      const rows = await records.activeSessions(userId);
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
      const session = (await records.activeSessions(userId)).find(({ id }) => id === sessionId);
      if (session === undefined) return false;
      await records.endSessions([session.token]);
      return true;
    },

    endOtherSessions: (userId, sessionId) => records.endOtherSessions(userId, sessionId),
  };
}
