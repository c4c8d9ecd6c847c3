import { loadRegistry } from '../../schemas/registry.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createLists } from '../../store/accounts/lists.ts';
import { createApiKeys } from '../../store/keys/apiKeys.ts';
import { parseOptions, UsageError } from './arguments.ts';
import { type Command, loadTemporal } from './command.ts';
import { accountCommands } from './commands/accounts.ts';
import { adjust } from './commands/adjust.ts';
import { createAccount } from './commands/createAccount.ts';
import { keyCommands } from './commands/keys.ts';
import { receiptKeyCommands } from './commands/receiptKeys.ts';
import { rekey } from './commands/rekey.ts';
import { suspensionCommands } from './commands/suspend.ts';
import { userCommands } from './commands/users.ts';
import { webhookCommands } from './commands/webhooks.ts';
import { helpFor, overview } from './help.ts';
import { runCli, withStore } from './run.ts';

const COMMANDS: readonly Command[] = [
  createAccount,
  adjust,
  ...accountCommands,
  ...suspensionCommands,
  ...keyCommands,
  ...webhookCommands,
  ...userCommands,
  ...receiptKeyCommands,
  rekey,
];

/**
 * Finds the command that the first one or two words name. The name of a group alone, such as `keys`, means its `list`
 * command. @throws UsageError
 */
function findCommand(words: readonly string[]): { command: Command; rest: string[] } {
  const [first, second] = words;
  if (first === undefined || first.startsWith('-'))
    throw new UsageError('the command is missing; --help lists all commands');
  for (const [name, length] of [
    [`${first} ${second}`, 2],
    [first, 1],
    [`${first} list`, 1],
  ] as const) {
    const command = COMMANDS.find((candidate) => candidate.name === name);
    if (command !== undefined) return { command, rest: words.slice(length) };
  }
  throw new UsageError(`unknown command ${JSON.stringify(first)}; --help lists all commands`);
}

await runCli(async () => {
  const flags = ['--json', '--help'];
  const args = process.argv.slice(2);
  const words = args.filter((arg) => !flags.includes(arg));
  const help = args.includes('--help');
  if (help && words.length === 0) return { help: overview(COMMANDS) };
  const { command, rest } = findCommand(words);
  if (help) return { help: helpFor(command) };

  const run = command.prepare(parseOptions(rest, command.options));
  const registry = await loadRegistry();
  const result = await withStore((store, env) => {
    store.onEvents(async (accountId) => (await loadTemporal()).startDispatchOrWarn(env, accountId));
    return run({
      env,
      store,
      registry,
      accounts: createAccounts(store),
      apiKeys: createApiKeys(store, (error) => console.error(error)),
      lists: createLists(store),
    });
  });
  return { result, json: args.includes('--json') };
});
