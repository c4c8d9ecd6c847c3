import { parseArgs } from 'node:util';

/** The command line is invalid. The message is one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

interface Option {
  /** Placeholder of the option's value in the help text. */
  value: string;
  about: string;
  required?: true;
}
export type Options = Readonly<Record<string, Option>>;

/** The values of a command's options, each validated when it is read. @throws UsageError */
export interface Values {
  text(name: string): string;
  optional(name: string): string | undefined;
  /** @returns undefined if the option is omitted */
  integer(name: string, min: number, max: number): number | undefined;
  requiredInteger(name: string, min: number, max: number): number;
}

/**
 * Joins an option and its negative value with `=`: otherwise `parseArgs` would read the `-50` in `--credits -50` as
 * an option.
 */
function joinNegatives(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const last = joined.at(-1) ?? '';
    if (/^--[a-z-]+$/.test(last) && /^-\d/.test(arg)) joined.splice(-1, 1, `${last}=${arg}`);
    else joined.push(arg);
  }
  return joined;
}

/**
 * Parses the options of a command. @throws UsageError for an option that is unknown, repeated, without a value, or
 * missing
 */
export function parseOptions(args: readonly string[], options: Options): Values {
  const named = Object.keys(options).map((name) => [name, { type: 'string', multiple: true }] as const);
  const parsed = (() => {
    try {
      return parseArgs({ args: joinNegatives(args), options: Object.fromEntries(named) });
    } catch (error) {
      const [line = ''] = error instanceof Error ? error.message.split('\n') : [];
      throw new UsageError(line, { cause: error });
    }
  })();
  const { values } = parsed;
  for (const [name, texts] of Object.entries(values))
    if (texts !== undefined && texts.length > 1) throw new UsageError(`--${name} is repeated`);
  for (const [name, { required, value }] of Object.entries(options))
    if (required && values[name] === undefined) throw new UsageError(`--${name} ${value} is missing`);

  const optional = (name: string): string | undefined => {
    const text = values[name]?.[0];
    if (text === '') throw new UsageError(`--${name} is empty`);
    return text;
  };
  const text = (name: string): string => {
    const value = optional(name);
    if (value === undefined) throw new UsageError(`--${name} is missing`);
    return value;
  };
  const asInteger = (name: string, value: string, min: number, max: number): number => {
    const number = Number(value);
    if (!/^[+-]?\d{1,15}$/.test(value) || number < min || number > max)
      throw new UsageError(
        `--${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(value)}`,
      );
    return number;
  };
  return {
    optional,
    text,
    requiredInteger: (name, min, max) => asInteger(name, text(name), min, max),
    integer(name, min, max) {
      const value = optional(name);
      return value === undefined ? undefined : asInteger(name, value, min, max);
    },
  };
}
