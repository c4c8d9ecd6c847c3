import { MongoServerSelectionError } from 'mongodb';
import { EnvError, readEnv } from '../../schemas/env.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { type AddressedEnv, addressed, CommandError } from './addresses.ts';
import { UsageError } from './arguments.ts';
import { table } from './table.ts';

/** Exit status of a command that failed, and of a usage error. */
export const FAILED = 1;
const USAGE_ERROR = 2;

/** Formats the faults of an error, or else its detail, as one line. */
function inOneLine(error: ServiceError): string {
  const { errors = [], moreErrors = 0 } = error.members;
  const faults = errors.map(({ pointer, message }) => `${pointer} ${message}`).join('; ');
  const more = moreErrors === 0 ? '' : `; and ${moreErrors} more`;
  return faults === '' ? error.detail : faults + more;
}

/** Returns the message and the exit status for an expected error. @throws any other error */
function explain(error: unknown): { line: string; status: number } {
  if (error instanceof UsageError || error instanceof EnvError)
    return { line: error.message, status: USAGE_ERROR };
  if (error instanceof CommandError) return { line: error.message, status: FAILED };
  if (!(error instanceof ServiceError)) throw error;
  return { line: inOneLine(error), status: error.code === 'invalid_input' ? USAGE_ERROR : FAILED };
}

/**
 * Runs a command. Prints its result to stdout as JSON or as a table, or an expected error to stderr as one line, and
 * sets the exit status.
 */
export async function runCli(
  work: () => Promise<{ result: unknown; json: boolean } | { help: string }>,
): Promise<void> {
  try {
    const outcome = await work();
    if ('help' in outcome) process.stdout.write(outcome.help);
    else process.stdout.write(outcome.json ? `${JSON.stringify(outcome.result)}\n` : table(outcome.result));
  } catch (error) {
    const { line, status } = explain(error);
    process.stderr.write(`${line}\n`);
    process.exitCode = status;
  }
}

/** Returns the hosts of a connection string without its password. A string with several hosts is no URL. */
const hostsOf = (uri: string): string => /^[^/]+:\/\/(?:[^@/]*@)?([^/?]+)/.exec(uri)?.[1] ?? '';

/** Opens the database, runs `use` and closes the database. @throws CommandError if the database is unreachable */
export async function withStore<T>(
  use: (store: Store, env: AddressedEnv) => Promise<T>,
  timeoutMs?: number,
): Promise<T> {
  const env = await addressed(readEnv());
  const store = await openStore(env.MONGODB_URI, timeoutMs).catch((error: unknown) => {
    if (!(error instanceof MongoServerSelectionError)) throw error;
    throw new CommandError(
      `MongoDB at ${hostsOf(env.MONGODB_URI)} does not respond: check that the stack is running`,
      {
        cause: error,
      },
    );
  });
  try {
    return await use(store, env);
  } finally {
    await store.close();
  }
}
