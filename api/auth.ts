import { randomUUID } from 'node:crypto';
import { mongodbAdapter } from '@better-auth/mongo-adapter';
import { APIError } from 'better-auth/api';
import { betterAuth } from 'better-auth/minimal';
import type { Logger } from 'pino';
import type { Env } from '../schemas/env.ts';
import type { Accounts } from '../store/accounts.ts';
import type { Keyring } from '../store/keyring.ts';
import type { Store } from '../store/mongo.ts';

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
  /** Comes back with every form of this session, which no other site's page can know. */
  formToken: string;
  setCookie: string[];
}

export interface Auth {
  /** Answers a request for one of better-auth's own paths under /api/auth. @throws what is our fault */
  handler(request: Request): Promise<Response>;
  /** Who the cookie in the headers belongs to. */
  signedIn(headers: Headers): Promise<SignedIn | null>;
  find(email: string): Promise<User | null>;
  /** Gives an account somebody who can sign in; for operators, since nothing proves here whose e-mail it is. */
  createUser(user: Omit<User, 'id'> & { name: string; password: string }): Promise<User>;
  setRole(userId: string, role: Role): Promise<void>;
  hasPassword(userId: string, password: string): Promise<boolean>;
  /** Ends the sessions that the old one opened. */
  setPassword(userId: string, password: string): Promise<void>;
}

interface Dependencies {
  env: Pick<Env, 'FREE_CREDITS' | 'PUBLIC_URL'>;
  store: Store;
  accounts: Accounts;
  keyring: Keyring;
  log: Logger;
}

/** The header that carries the caller's address to better-auth; whatever a caller sends under this name is replaced. */
export const ADDRESS_HEADER = 'x-client-address';

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
 * record and a session begins. So it is opened once, and a crash in between is made good at the next sign-in.
 */
export function createAuth({ env, store, accounts, keyring, log }: Dependencies): Auth {
  const publicUrl = env.PUBLIC_URL === null ? null : new URL(env.PUBLIC_URL);
  const auth = betterAuth({
    appName: 'Utility Tools',
    baseURL: publicUrl?.origin ?? NO_ORIGIN,
    basePath: '/api/auth',
    secret: keyring.derive('session').toString('base64url'),
    database: mongodbAdapter(store.db, { client: store.client }),
    emailAndPassword: { enabled: true },
    user: {
      modelName: 'users',
      additionalFields: {
        accountId: { type: 'string', required: false, input: false },
        role: { type: 'string', required: false, input: false, defaultValue: 'owner' },
      },
    },
    session: { modelName: 'sessions' },
    account: { modelName: 'credentials' },
    verification: { modelName: 'verifications' },
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
      throw new APIError('UNPROCESSABLE_ENTITY', {
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
      const formToken = keyring.mac('form', answer.response.session.id);
      return { user, formToken, setCookie: answer.headers.getSetCookie() };
    },

    async find(email) {
      const { internalAdapter } = await auth.$context;
      const found = await internalAdapter.findUserByEmail(email.toLowerCase());
      return found && asUser(found.user);
    },

    async createUser({ password, ...user }) {
      const { internalAdapter } = await auth.$context;
      const record = await internalAdapter.createUser(
        { ...user, emailVerified: false },
        { method: 'email-password' },
      );
      const created = asUser(record);
      if (created === null) throw new Error('the user was not created as asked');
      await setPassword(created.id, password);
      return created;
    },

    async setRole(userId, role) {
      const { internalAdapter } = await auth.$context;
      await internalAdapter.updateUser(userId, { role });
    },

    async hasPassword(userId, password) {
      const { password: hasher } = await auth.$context;
      const hash = await passwordHash(userId);
      return hash !== null && hasher.verify({ hash, password });
    },

    setPassword,
  };
}
