import { randomBytes } from 'node:crypto';
import { type Auth, createAuth } from '../api/auth/auth.ts';
import { createLog } from '../platform/log.ts';
import { loadKeyring } from '../platform/secrets/keyring.ts';
import type { Env } from '../schemas/env.ts';
import { loadRegistry } from '../schemas/registry.ts';
import { type Accounts, createAccounts } from '../store/accounts/accounts.ts';
import { type ApiKeys, createApiKeys, type NewKey } from '../store/keys/apiKeys.ts';
import { ensureIndexes } from '../store/mongo/indexes.ts';
import { openStore } from '../store/mongo/mongo.ts';
import { type DemoFile, readDemoFile } from './demo-file.ts';

/** The demo user, who has the operator role, the user's account, and one API key of each scope. */
export type Demo = Pick<DemoFile, 'email' | 'password' | 'apiKey' | 'accountKey' | 'accountId'>;
type Secrets = Record<'password' | 'apiKey' | 'accountKey', string | null>;

const EMAIL = 'demo@example.com';
/** Number of random bytes in the password. It may be long because users copy it instead of memorising it. */
const PASSWORD_BYTES = 16;

/** Reads the demo secrets of the last start; a missing secret is null. @throws StartError when demo.json is damaged */
async function readPreviousSecrets(dataDir: string): Promise<Secrets> {
  const content = await readDemoFile(dataDir);
  const text = (name: keyof Secrets): string | null => {
    const value = content?.[name];
    return typeof value === 'string' ? value : null;
  };
  return { password: text('password'), apiKey: text('apiKey'), accountKey: text('accountKey') };
}

async function ensureAccount(accounts: Accounts, credits: number): Promise<string> {
  const account = (await accounts.findByEmail(EMAIL)) ?? (await accounts.create({ email: EMAIL, credits }));
  return account._id;
}

/**
 * Creates the demo user with the operator role, or gives the existing user that role and this password.
 *
 * @returns the password
 */
async function ensureOperator(auth: Auth, accountId: string, known: string | null): Promise<string> {
  const password = known ?? randomBytes(PASSWORD_BYTES).toString('base64url');
  const user = await auth.find(EMAIL);
  if (user === null)
    await auth.createUser({ email: EMAIL, name: 'Demo', password, accountId, role: 'operator' });
  else {
    await auth.setRole(user.id, 'operator');
    if (!(await auth.hasPassword(user.id, password))) await auth.setPassword(user.id, password);
  }
  return password;
}

/** Returns `known` if it is still a valid key of the account, else a new key. */
async function ensureKey(
  apiKeys: ApiKeys,
  accountId: string,
  scope: NewKey['scope'],
  known: string | null,
): Promise<string> {
  const found = known === null ? null : await apiKeys.authenticate(known);
  if (known !== null && found?.key.accountId === accountId) return known;
  const { key } = await apiKeys.create({
    accountId,
    name: `Demo (${scope})`,
    scope,
    tools: null,
    expiresAt: null,
  });
  return key;
}

/**
 * Creates those parts of the demo that are missing: all of them in a new database, none at a restart. The caller writes
 * the result to demo.json, which holds the only readable copy of the password and the keys.
 *
 * @throws StartError when demo.json is damaged
 */
export async function ensureDemo({ env, mongodbUri }: { env: Env; mongodbUri: string }): Promise<Demo> {
  const log = createLog(env, 'demo', await loadRegistry());
  await using open = new AsyncDisposableStack();
  const store = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const apiKeys = open.adopt(
    createApiKeys(store, (error) => log.error({ err: error }, 'background write failed')),
    (it) => it.flush(),
  );
  await ensureIndexes(store);
  const accounts = createAccounts(store);
  const auth = createAuth({ env, store, accounts, keyring: loadKeyring(env), mails: null, log });

  const known = await readPreviousSecrets(env.DATA_DIR);
  const accountId = await ensureAccount(accounts, env.FREE_CREDITS);
  return {
    email: EMAIL,
    password: await ensureOperator(auth, accountId, known.password),
    apiKey: await ensureKey(apiKeys, accountId, 'tools', known.apiKey),
    accountKey: await ensureKey(apiKeys, accountId, 'account', known.accountKey),
    accountId,
  };
}
