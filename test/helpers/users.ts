import { createAuth, type Role } from '../../api/auth/auth.ts';
import { createLog } from '../../platform/log.ts';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { readEnv } from '../../schemas/env.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { withStore } from './account.ts';
import { type Visitor, visitor } from './dashboard.ts';
import { type Credentials, freshCredentials, signIn } from './session.ts';
import type { Stack } from './stack.ts';

/** Creates an account and a user of this role who can sign in, as the operator's command does. */
export async function makeUser(stack: Pick<Stack, 'mongodbUri' | 'env'>, role: Role): Promise<Credentials> {
  const env = readEnv(stack.env);
  const log = createLog(env, 'test', await loadRegistry());
  const credentials = freshCredentials();
  await withStore(stack, async (store) => {
    const accounts = createAccounts(store);
    const { _id: accountId } = await accounts.create({ email: credentials.email, credits: 100 });
    const auth = createAuth({ env, store, accounts, keyring: loadKeyring(env), mails: null, log });
    await auth.createUser({ ...credentials, name: 'Test', accountId, role });
  });
  return credentials;
}

/** Creates an operator and signs in. */
export async function newOperator(stack: Pick<Stack, 'baseUrl' | 'mongodbUri' | 'env'>): Promise<Visitor> {
  const credentials = await makeUser(stack, 'operator');
  return visitor(stack, await signIn(stack.baseUrl, credentials), credentials);
}
