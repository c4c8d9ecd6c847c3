import { randomUUID } from 'node:crypto';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createApiKeys, type NewKey } from '../../store/keys/apiKeys.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import type { Stack } from './stack.ts';

type Fields = Record<string, unknown>;

/** An account on a running stack, with one API key of each scope and functions that send requests as its owner. */
export interface TestAccount {
  accountId: string;
  email: string;
  toolsKey: string;
  accountKey: string;
  /**
   * Sends a POST request for a tool, with the key of scope `tools`. A string body is sent unchanged, any other value as
   * JSON.
   */
  call(tool: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Requests a path of the API with the key of scope `account`: POST when there is a body, else GET. */
  manage(path: string, body?: Fields, init?: RequestInit): Promise<Response>;
  /** Creates another API key of this account. */
  addKey(key: Partial<Omit<NewKey, 'accountId'>>): Promise<{ id: string; key: string }>;
  /** Returns functions that send the requests of the same account and keys to another base URL. */
  at(baseUrl: string): Pick<TestAccount, 'call' | 'manage'>;
}

/** Opens the stack's database, calls `use` with it, and closes it. */
export async function withStore<T>(
  stack: Pick<Stack, 'mongodbUri'>,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(stack.mongodbUri);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function createKey(store: Store, key: NewKey): Promise<{ id: string; key: string }> {
  const made = await createApiKeys(store, (error) => console.error(error)).create(key);
  return { id: made.row._id, key: made.key };
}

/** Creates an account with this many credits and a unique email address. */
export async function makeAccount(
  stack: Pick<Stack, 'mongodbUri' | 'baseUrl'>,
  credits: number,
): Promise<TestAccount> {
  const email = `${randomUUID()}@example.com`;
  const { defaults, toolsKey, accountKey } = await withStore(stack, async (store) => {
    const { _id: accountId } = await createAccounts(store).create({ email, credits });
    const defaults = { accountId, name: 'test', scope: 'tools', tools: null, expiresAt: null } as const;
    const { key: toolsKey } = await createKey(store, defaults);
    const { key: accountKey } = await createKey(store, { ...defaults, scope: 'account' });
    return { defaults, toolsKey, accountKey };
  });
  const { accountId } = defaults;
  const addKey: TestAccount['addKey'] = (key) =>
    withStore(stack, (store) => createKey(store, { ...defaults, ...key }));

  const at: TestAccount['at'] = (baseUrl) => ({
    call: (tool, body, headers = {}) =>
      fetch(`${baseUrl}/api/v1/tools/${tool}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${toolsKey}`, 'Content-Type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    manage(path, body, init = {}) {
      const headers = new Headers({ Authorization: `Bearer ${accountKey}` });
      if (body !== undefined) headers.set('Content-Type', 'application/json');
      for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
      const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
      return fetch(`${baseUrl}${path}`, { ...post, ...init, headers });
    },
  });
  return { accountId, email, toolsKey, accountKey, addKey, at, ...at(stack.baseUrl) };
}
