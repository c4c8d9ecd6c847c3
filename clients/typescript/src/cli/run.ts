import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { UtilityTools } from '../client.ts';
import { UtilityToolsError } from '../errors.ts';
import type { NamedFile } from '../files.ts';
import { COMMANDS } from '../generated/commands.ts';
import type { Job } from '../generated/types.ts';
import { newJob } from '../jobs.ts';
import { saveFile } from '../node.ts';
import type { CallOptions } from '../options.ts';
import { rowOf } from '../rest.ts';
import { fileOf, type Result } from '../result.ts';
import { createTransport } from '../transport.ts';
import { listCalls, showBalance, showReceipt } from './accountCommands.ts';
import { GLOBAL_OPTIONS, type Invocation, readInvocation } from './arguments.ts';
import { runBatch } from './batch.ts';
import type { Command } from './command.ts';
import { completionScript } from './completion.ts';
import { EXIT, exitKindOf, UsageError } from './exit.ts';
import { programHelp, toolHelp } from './help.ts';
import { cancelJob, listJobs, showResult } from './jobCommands.ts';
import { accessOf } from './keys.ts';
import { listen } from './listen.ts';
import { login, logout } from './login.ts';
import { fieldsOf, jsonOf } from './rows.ts';
import { listRuns, listSchedules } from './scheduleCommands.ts';
import { runSubcommand, type Subcommand } from './subcommand.ts';
import type { Surroundings } from './surroundings.ts';

type Output = Record<string, unknown>;

/** Runs a tool by its name. */
class AnyTool extends UtilityTools {
  call(
    { name, hasSecrets }: Command,
    input: object,
    options: CallOptions,
    file?: NamedFile,
  ): Promise<Result<Output>> {
    return this.run<Output>({ name, hasSecrets }, input, options, file);
  }
}

const format = (output: Output, json: boolean): string => (json ? jsonOf(output) : fieldsOf(output));

/** The commands that are not tools. */
const SUBCOMMANDS: readonly Subcommand[] = [
  login,
  logout,
  showBalance,
  listCalls,
  showReceipt,
  listJobs,
  showResult,
  cancelJob,
  runBatch,
  listSchedules,
  listRuns,
  listen,
];

/** Reads the file that is sent with a call. @throws UsageError */
async function fileAt(path: string): Promise<NamedFile> {
  const content = await readFile(path).catch((error: Error) => {
    throw new UsageError(`--file ${path} cannot be read: ${error.message}`);
  });
  return { content: new Blob([new Uint8Array(content)]), name: basename(path) };
}

/** Creates a job and prints its id. */
async function createJob(
  command: Command,
  invocation: Invocation,
  { env, out, signal }: Surroundings,
): Promise<void> {
  const { input, file, maxCredits, timeoutMs, idempotencyKey, baseUrl, json } = invocation;
  const access = await accessOf(env, baseUrl);
  const send = createTransport(access, 'UTILITY_TOOLS_API_KEY');
  if (file !== null) {
    const { content, name } = await fileAt(file);
    const { id } = await new UtilityTools(access).files.upload(content, name, { timeoutMs, signal });
    input.fileUrl = id;
  }
  const job = rowOf<Job>(
    await send(newJob(command.name, input, { maxCredits, idempotencyKey }), { timeoutMs, signal }),
  );
  out(json ? jsonOf(job) : `${job.id}\n`);
}

async function write(
  { file }: Command & { file: NonNullable<Command['file']> },
  tool: Command,
  result: Result<Output>,
  { output, json }: Invocation,
  { out }: Surroundings,
): Promise<void> {
  const { [file.data]: _data, ...fields } = result.output;
  if (output === null) return out(format(result.output, true));
  const content = fileOf(tool, file, result.output);
  if (output === '-') return out(content.bytes());
  const path = await saveFile({ file: content }, output).catch((error: Error) => {
    throw new Error(
      `The file could not be saved: ${error.message}. The call was charged: repeat the command with ` +
        `--idempotency-key ${result.idempotencyKey} within 24 hours to get it without a second charge.`,
    );
  });
  out(json ? format(fields, true) : `${path}\n`);
}

/** The version of this package. */
async function versionOf(): Promise<string> {
  const manifest: { version: string } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return manifest.version;
}

const hasFile = (command: Command): command is Command & { file: NonNullable<Command['file']> } =>
  command.file !== null;

async function runTool(command: Command, args: string[], surroundings: Surroundings): Promise<void> {
  const { env, out, signal } = surroundings;
  const invocation = await readInvocation(command, args);
  if (invocation.help) return out(toolHelp(command));
  if (invocation.isAsync) return createJob(command, invocation, surroundings);
  if (hasFile(command) && invocation.output === null && !invocation.json)
    throw new UsageError(
      `${command.name} creates a file. Add -o FILE, -o - for standard output, or --json for base64.`,
    );
  if (!hasFile(command) && invocation.output !== null)
    throw new UsageError(
      `${command.name} creates no file, so it does not support -o. It prints its output to standard output.`,
    );
  const progress = invocation.quiet ? () => undefined : surroundings.progress;
  const client = new AnyTool({
    ...(await accessOf(env, invocation.baseUrl)),
    onRetry: ({ attempt, delayMs, error }) =>
      progress(`Attempt ${attempt} failed: ${error.message}\nRetrying in ${(delayMs / 1000).toFixed(1)} s …`),
  });
  progress(`Running ${command.name} …`);
  const { input, maxCredits, timeoutMs, idempotencyKey } = invocation;
  const file = invocation.file === null ? undefined : await fileAt(invocation.file);
  const result = await client.call(command, input, { maxCredits, timeoutMs, idempotencyKey, signal }, file);
  const { charged, left } = result.credits;
  progress(`Done. Credits charged: ${charged}, left: ${left ?? 'unknown'}. Request: ${result.requestId}`);
  if (hasFile(command)) await write(command, command, result, invocation, surroundings);
  else out(format(result.output, invocation.json));
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof UtilityToolsError) || error.idempotencyKey === null) return error.message;
  return error.message.replace(
    'the `idempotencyKey` of this error',
    `--idempotency-key ${error.idempotencyKey}`,
  );
}

/** Runs the program. @returns the exit code */
export async function run(args: string[], surroundings: Surroundings): Promise<number> {
  const [name = '--help', ...rest] = args;
  try {
    if (name === '--help' || name === '-h' || name === 'help') {
      surroundings.out(programHelp(COMMANDS, SUBCOMMANDS));
      return EXIT.success.code;
    }
    if (name === '--version') {
      surroundings.out(`${await versionOf()}\n`);
      return EXIT.success.code;
    }
    if (name === 'completion') {
      const global = Object.keys(GLOBAL_OPTIONS).map((flag) => `--${flag}`);
      surroundings.out(completionScript(rest[0] ?? '', COMMANDS, SUBCOMMANDS, global));
      return EXIT.success.code;
    }
    const subcommand = SUBCOMMANDS.find((it) => it.name === name);
    if (subcommand !== undefined) {
      await runSubcommand(subcommand, rest, surroundings);
      return EXIT.success.code;
    }
    const command = COMMANDS.find((it) => it.name === name);
    if (command === undefined)
      throw new UsageError(
        `There is no tool ${JSON.stringify(name)}. "utility-tools --help" lists the tools.`,
      );
    await runTool(command, rest, surroundings);
    return EXIT.success.code;
  } catch (error) {
    const kind = exitKindOf(error);
    // An interrupted call may be charged: its message says how to get the result.
    const isPlain = !(error instanceof UtilityToolsError && error.idempotencyKey !== null);
    surroundings.progress(kind === 'interrupted' && isPlain ? 'Interrupted.' : `Error: ${explain(error)}`);
    return EXIT[kind].code;
  }
}
