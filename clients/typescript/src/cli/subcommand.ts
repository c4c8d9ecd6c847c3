import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UsageError } from './exit.ts';
import type { Surroundings } from './surroundings.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

/** The options that a user has given. */
export type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

/** A command that is not a tool. */
export interface Subcommand {
  name: string;
  /** Arguments and options, as the help shows them. */
  usage: string;
  about: string;
  options: Options;
  /** Number of arguments besides the options. */
  operands: number;
  run(values: Values, operands: string[], surroundings: Surroundings): Promise<void>;
}

/** Options of each command that is not a tool. */
export const SHARED_OPTIONS = {
  json: { type: 'boolean' },
  'base-url': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies Options;

export const textOf = (value: Values[string]): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** Help of one command. */
export const subcommandHelp = ({ name, usage, about }: Subcommand): string =>
  `Usage: utility-tools ${name}${usage === '' ? '' : ` ${usage}`}\n\n${about}\n`;

/** Parses the command line and runs the command. @throws UsageError */
export async function runSubcommand(
  command: Subcommand,
  args: string[],
  surroundings: Surroundings,
): Promise<void> {
  const { name, options, operands } = command;
  const hint = `"utility-tools ${name} --help" shows its options.`;
  let parsed: { values: Values; positionals: string[] };
  try {
    parsed = parseArgs({ args, options: { ...SHARED_OPTIONS, ...options }, allowPositionals: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('. ')[0] : String(error);
    throw new UsageError(`${reason}. ${hint}`);
  }
  if (parsed.values.help === true) return surroundings.out(subcommandHelp(command));
  if (parsed.positionals.length !== operands)
    throw new UsageError(`${name} takes ${operands === 1 ? 'one argument' : 'no arguments'}. ${hint}`);
  await command.run(parsed.values, parsed.positionals, surroundings);
}
