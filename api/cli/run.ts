import { MongoServerSelectionError } from 'mongodb';
import { EnvError, readEnv } from '../../schemas/env.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { openStore, type Store } from '../../store/mongo.ts';
import { type AddressedEnv, addressed, CommandError } from './addresses.ts';
import { UsageError } from './arguments.ts';
import { table } from './table.ts';

/** Exit statuses: what was asked could not be done, and what was asked makes no sense. */
export const FAILED = 1;
const MISUSED = 2;

/** What was wrong with the input, in one line. */
function inOneLine(error: ServiceError): string {
  const { errors = [], moreErrors = 0 } = error.members;
  const faults = errors.map(({ pointer, message }) => `${pointer} ${message}`).join('; ');
  const more = moreErrors === 0 ? '' : `; and ${moreErrors} more`;
  return faults === '' ? error.detail : faults + more;
}

/** The message and the exit status for an error that is the operator's to know. @throws every other one */
function explain(error: unknown): { line: string; status: number } {
  if (error instanceof UsageError || error instanceof EnvError)
    return { line: error.message, status: MISUSED };
  if (error instanceof CommandError) return { line: error.message, status: FAILED };
  if (!(error instanceof ServiceError)) throw error;
  return { line: inOneLine(error), status: error.code === 'invalid_input' ? MISUSED : FAILED };
}

/**
 * Runs an operator's command: what it returns goes to stdout, as JSON or as a table; what is wrong goes to stderr in
 * one line, and into the exit status.
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

/** Opens the stack's database for the time of `use`. @throws CommandError when there is none */
export async function withStore<T>(
  use: (store: Store, env: AddressedEnv) => Promise<T>,
  timeoutMs?: number,
): Promise<T> {
  const env = await addressed(readEnv());
  const store = await openStore(env.MONGODB_URI, timeoutMs).catch((error: unknown) => {
    if (!(error instanceof MongoServerSelectionError)) throw error;
    const { host } = new URL(env.MONGODB_URI);
    throw new CommandError(`MongoDB at ${host} does not answer: does the stack run?`, { cause: error });
  });
  try {
    return await use(store, env);
  } finally {
    await store.close();
  }
}
