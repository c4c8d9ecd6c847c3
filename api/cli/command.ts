import type { Registry } from '../../schemas/registry.ts';
import type { Accounts } from '../../store/accounts.ts';
import type { ApiKeys } from '../../store/apiKeys.ts';
import type { Lists } from '../../store/lists.ts';
import type { Account, Store } from '../../store/mongo.ts';
import { type AddressedEnv, CommandError } from './addresses.ts';
import type { Options, Values } from './arguments.ts';

/** What a command works with. */
export interface Books {
  env: AddressedEnv;
  store: Store;
  accounts: Accounts;
  apiKeys: ApiKeys;
  lists: Lists;
  registry: Registry;
}

/** One operator command. */
export interface Command {
  /** As it is typed: one word, or a group and what to do in it. */
  name: string;
  about: string;
  options: Options;
  /** Checks the options, before anything is connected, and answers what is then to be done. @throws UsageError */
  prepare(values: Values): (books: Books) => Promise<Record<string, unknown>>;
}

/** @throws CommandError when there is no such account */
export async function requireAccount({ accounts }: Books, id: string): Promise<Account> {
  const account = await accounts.find(id);
  if (account === null) throw new CommandError(`there is no account ${JSON.stringify(id)}`);
  return account;
}

export const ACCOUNT = { value: 'ID', about: 'Id of the account.', required: true } as const;

/** Options of every list, and how to read them. */
export const PAGE = {
  limit: { value: 'N', about: 'Rows to show, up to 1000. Default: 100.' },
  cursor: { value: 'CURSOR', about: 'nextCursor of the page before.' },
} as const;

export function pageOf(values: Values) {
  const cursor = values.optional('cursor');
  return { limit: values.integer('limit', 1, 1000) ?? 100, ...(cursor !== undefined && { cursor }) };
}
