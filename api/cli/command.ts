import type { Registry } from '../../schemas/registry.ts';
import type { Account } from '../../store/accounts/accountDocs.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import type { Lists } from '../../store/accounts/lists.ts';
import type { ApiKeys } from '../../store/keys/apiKeys.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { type AddressedEnv, CommandError } from './addresses.ts';
import type { Options, Values } from './arguments.ts';

/** Dependencies of a command: the environment, the database and the services built on it. */
export interface CommandContext {
  env: AddressedEnv;
  store: Store;
  accounts: Accounts;
  apiKeys: ApiKeys;
  lists: Lists;
  registry: Registry;
}

export interface Command {
  /** Name of the command: one word, or a group and a verb, as in `keys create`. */
  name: string;
  /** Description of the command in the help text. */
  about: string;
  options: Options;
  /**
   * Validates the options before any connection is opened, and returns the function that runs the command. @throws
   * UsageError
   */
  prepare(values: Values): (context: CommandContext) => Promise<Record<string, unknown>>;
}

/** Returns the account with this id. @throws CommandError if it does not exist */
export async function requireAccount({ accounts }: CommandContext, id: string): Promise<Account> {
  const account = await accounts.find(id);
  if (account === null)
    throw new CommandError(`there is no account ${JSON.stringify(id)}; "accounts list" shows all accounts`);
  return account;
}

/** Loads the operations on Temporal. Loaded on demand, because the client takes half of the start-up time of a command. */
export const loadTemporal = () => import('./temporal.ts');

export const ACCOUNT = { value: 'ID', about: 'Id of the account.', required: true } as const;

/** Options of every command that prints a list. */
export const PAGE = {
  limit: { value: 'N', about: 'Maximum number of rows to print, up to 1000. Default: 100.' },
  cursor: {
    value: 'CURSOR',
    about: 'The nextCursor that was printed with the previous page. Default: the first page.',
  },
} as const;

export function pageOf(values: Values) {
  const cursor = values.optional('cursor');
  return { limit: values.integer('limit', 1, 1000) ?? 100, ...(cursor !== undefined && { cursor }) };
}
