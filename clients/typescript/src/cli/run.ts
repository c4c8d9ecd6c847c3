import { UtilityTools } from '../client.ts';
import { UtilityToolsError } from '../errors.ts';
import { COMMANDS } from '../generated/commands.ts';
import { saveFile } from '../node.ts';
import type { CallOptions } from '../options.ts';
import { fileOf, type Result } from '../result.ts';
import { type Invocation, readInvocation } from './arguments.ts';
import type { Command } from './command.ts';
import { readCredentials } from './credentials.ts';
import { EXIT, exitKindOf, UsageError } from './exit.ts';
import { programHelp, toolHelp } from './help.ts';
import { login, logout } from './login.ts';
import type { Surroundings } from './surroundings.ts';

type Output = Record<string, unknown>;

/** Runs a tool by its name. */
class AnyTool extends UtilityTools {
  call({ name, hasSecrets }: Command, input: object, options: CallOptions): Promise<Result<Output>> {
    return this.run<Output>({ name, hasSecrets }, input, options);
  }
}

/** The key and URL: those of the command line and environment, or else those that `login` has stored. */
async function credentialsOf(
  env: Surroundings['env'],
  chosenUrl: string | undefined,
): Promise<{ apiKey: string; baseUrl: string | undefined }> {
  const baseUrl = chosenUrl ?? env.UTILITY_TOOLS_URL;
  const key = env.UTILITY_TOOLS_API_KEY;
  if (key !== undefined && key.trim() !== '') return { apiKey: key, baseUrl };
  const stored = await readCredentials(env);
  // A key is sent only to the service that it is for.
  if (stored !== null && (baseUrl === undefined || baseUrl.replace(/\/+$/, '') === stored.baseUrl))
    return stored;
  throw new UsageError(
    'UTILITY_TOOLS_API_KEY is not set, and you are not signed in to this service. Run "utility-tools login", or create a ' +
      'key of scope "tools" in the dashboard of the service, then: export UTILITY_TOOLS_API_KEY=ut_…',
  );
}

/** `field: value` for each field, or JSON. */
function format(output: Output, json: boolean): string {
  if (json) return `${JSON.stringify(output)}\n`;
  return Object.entries(output)
    .map(([field, value]) => `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}\n`)
    .join('');
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

const hasFile = (command: Command): command is Command & { file: NonNullable<Command['file']> } =>
  command.file !== null;

async function runTool(command: Command, args: string[], surroundings: Surroundings): Promise<void> {
  const { env, out, signal } = surroundings;
  const invocation = await readInvocation(command, args);
  if (invocation.help) return out(toolHelp(command));
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
    ...(await credentialsOf(env, invocation.baseUrl)),
    onRetry: ({ attempt, delayMs, error }) =>
      progress(`Attempt ${attempt} failed: ${error.message}\nRetrying in ${(delayMs / 1000).toFixed(1)} s …`),
  });
  progress(`Running ${command.name} …`);
  const { input, maxCredits, timeoutMs, idempotencyKey } = invocation;
  const result = await client.call(command, input, { maxCredits, timeoutMs, idempotencyKey, signal });
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
      surroundings.out(programHelp(COMMANDS));
      return EXIT.success.code;
    }
    if (name === 'login' || name === 'logout') {
      await (name === 'login' ? login : logout)(rest, surroundings);
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
    surroundings.progress(`Error: ${explain(error)}`);
    return EXIT[exitKindOf(error)].code;
  }
}
