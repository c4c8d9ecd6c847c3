import type { Registry } from '../../schemas/registry.ts';
import type { Accounts } from '../../store/accounts.ts';
import type { ApiKeys } from '../../store/apiKeys.ts';
import type { Lists } from '../../store/lists.ts';
import type { Account, Store } from '../../store/mongo.ts';
import { type AddressedEnv, CommandError } from './addresses.ts';
import type { Options, Values } from './arguments.ts';

/** The services that a command uses. */
export interface CommandContext {
  env: AddressedEnv;
  store: Store;
  accounts: Accounts;
  apiKeys: ApiKeys;
  lists: Lists;
  registry: Registry;
}

/** One operator command. */
export interface Command {
  /** One word, or a group and a verb: `keys create`. */
  name: string;
  /** Description in the help. */
  about: string;
  options: Options;
  /** Validates the options before any connection is opened, and returns the function that runs the command. @throws UsageError */
  prepare(values: Values): (context: CommandContext) => Promise<Record<string, unknown>>;
}

/** @throws CommandError if the account does not exist */
export async function requireAccount({ accounts }: CommandContext, id: string): Promise<Account> {
  const account = await accounts.find(id);
  if (account === null)
    throw new CommandError(`there is no account ${JSON.stringify(id)}; "accounts list" shows all accounts`);
  return account;
}

export const ACCOUNT = { value: 'ID', about: 'Id of the account.', required: true } as const;

/** Options of every list. */
export const PAGE = {
  limit: { value: 'N', about: 'Number of rows, up to 1000. Default: 100.' },
  cursor: { value: 'CURSOR', about: 'nextCursor of the previous page.' },
} as const;

/** Reads the options of `PAGE`. */
export function pageOf(values: Values) {
  const cursor = values.optional('cursor');
  return { limit: values.integer('limit', 1, 1000) ?? 100, ...(cursor !== undefined && { cursor }) };
}
