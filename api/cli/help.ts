import type { Command } from './command.ts';

const USAGE = 'npm run -s admin --';
const lines = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('');
};

/** Options common to all commands. */
const COMMON = [
  ['--json', 'Print the result as one line of JSON instead of a table.'],
  ['--help', 'Print this help, or the options of the given command.'],
] as const;

export const overview = (commands: readonly Command[]): string =>
  `Usage: ${USAGE} <command> [options]\n\nCommands:\n${lines(commands.map(({ name, about }) => [name, about]))}` +
  `\nOptions:\n${lines(COMMON)}` +
  '\nUses the database at MONGODB_URI. Default: the database of the local stack in DATA_DIR.\n' +
  'Exit status: 0 if the command succeeded, 1 if it failed, 2 for a usage error.\n';

export function helpFor({ name, about, options }: Command): string {
  const described = Object.entries(options).map(
    ([option, { value, about: text, required }]) =>
      [`--${option} ${value}`, required ? `${text} Required.` : text] as const,
  );
  return `Usage: ${USAGE} ${name} [options]\n\n${about}\n\nOptions:\n${lines([...described, ...COMMON])}`;
}
