import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { parseJson } from '../response.ts';
import { type Command, type CommandOption, flagOf, readsFile } from './command.ts';
import { UsageError } from './exit.ts';
import { textOf, type Values } from './subcommand.ts';

/** Options of every tool. */
export const GLOBAL_OPTIONS = {
  output: { type: 'string', short: 'o' },
  json: { type: 'boolean' },
  input: { type: 'string' },
  'max-credits': { type: 'string' },
  timeout: { type: 'string' },
  'idempotency-key': { type: 'string' },
  'base-url': { type: 'string' },
  async: { type: 'boolean' },
  quiet: { type: 'boolean', short: 'q' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies ParseArgsConfig['options'];

/** The command line of a tool, parsed. */
export interface Invocation {
  input: Record<string, unknown>;
  /** Path of the file to send instead of `fileUrl`; null if none is sent. */
  file: string | null;
  output: string | null;
  json: boolean;
  /** Whether to create a job instead of waiting for the result. */
  isAsync: boolean;
  quiet: boolean;
  help: boolean;
  maxCredits: number | undefined;
  timeoutMs: number | undefined;
  idempotencyKey: string | undefined;
  baseUrl: string | undefined;
}

/** Reads a number of the command line. @throws UsageError */
export function numberOf(flag: string, value: string): number {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number))
    throw new UsageError(`--${flag} takes a number, not ${JSON.stringify(value)}.`);
  return number;
}

const optionalNumber = (values: Values, flag: string): number | undefined => {
  const value = textOf(values[flag]);
  return value === undefined ? undefined : numberOf(flag, value);
};

function readOption(option: CommandOption, values: Values): unknown {
  const flag = flagOf(option);
  const value = values[flag];
  if (option.kind === 'boolean') return values[`no-${flag}`] === true ? false : value;
  if (typeof value !== 'string') return value;
  if (option.kind === 'integer' || option.kind === 'number') return numberOf(flag, value);
  return option.kind === 'json' ? (parseJson(value) ?? value) : value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads the JSON object of `--input`. */
async function readInput(path: string): Promise<Record<string, unknown>> {
  const content = await (path === '-' ? text(process.stdin) : readFile(path, 'utf8')).catch(
    (error: Error) => {
      throw new UsageError(`--input ${path} cannot be read: ${error.message}`);
    },
  );
  const value = parseJson(content);
  if (!isObject(value)) throw new UsageError(`--input ${path} does not contain a JSON object.`);
  return value;
}

/** Parses the arguments after the name of the tool. @throws UsageError */
function parse(command: Command, args: string[]): Values {
  const own = command.options.flatMap(
    (option): [string, { type: 'string' | 'boolean'; multiple?: boolean }][] => {
      const flag = flagOf(option);
      if (option.kind === 'boolean') return [flag, `no-${flag}`].map((name) => [name, { type: 'boolean' }]);
      return [[flag, { type: 'string', multiple: option.kind === 'list' }]];
    },
  );
  try {
    const file = readsFile(command) ? { file: { type: 'string' } as const } : {};
    return parseArgs({ args, options: { ...Object.fromEntries(own), ...file, ...GLOBAL_OPTIONS } }).values;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('. ')[0] : String(error);
    throw new UsageError(`${reason}. "utility-tools ${command.name} --help" lists the options.`);
  }
}

/** Reads the command line of a tool. @throws UsageError */
export async function readInvocation(command: Command, args: string[]): Promise<Invocation> {
  const values = parse(command, args);
  const help = values.help === true;
  const path = textOf(values.input);
  const input = path === undefined || help ? {} : await readInput(path);
  for (const option of command.options) {
    const value = readOption(option, values);
    if (value !== undefined) input[option.field] = value;
  }
  const file = textOf(values.file) ?? null;
  if (file !== null && 'fileUrl' in input) throw new UsageError('--file and --file-url exclude each other.');
  const missing = command.options.filter(
    ({ isRequired, field }) => isRequired && !(field in input) && !(field === 'fileUrl' && file !== null),
  );
  if (missing.length > 0 && !help)
    throw new UsageError(
      `${missing.map((option) => `--${flagOf(option)}`).join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing. ` +
        `"utility-tools ${command.name} --help" lists the options.`,
    );
  const seconds = optionalNumber(values, 'timeout');
  return {
    input,
    file,
    output: textOf(values.output) ?? null,
    json: values.json === true,
    isAsync: values.async === true,
    quiet: values.quiet === true,
    help,
    maxCredits: optionalNumber(values, 'max-credits'),
    timeoutMs: seconds === undefined ? undefined : seconds * 1000,
    idempotencyKey: textOf(values['idempotency-key']),
    baseUrl: textOf(values['base-url']),
  };
}
