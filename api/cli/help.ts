import type { Command } from './command.ts';

const USAGE = 'npm run -s admin --';
const lines = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('');
};

/** Options of all commands. */
const COMMON = [
  ['--json', 'Print the result as one line of JSON instead of a table.'],
  ['--help', 'Print this help; after a command, its options.'],
] as const;

export const overview = (commands: readonly Command[]): string =>
  `Usage: ${USAGE} <command> [options]\n\nCommands:\n${lines(commands.map(({ name, about }) => [name, about]))}` +
  `\nOptions:\n${lines(COMMON)}` +
  '\nUses the stack in DATA_DIR, or the database of MONGODB_URI.\n' +
  'Exit status: 0 done, 1 failed, 2 usage error.\n';

export function helpFor({ name, about, options }: Command): string {
  const described = Object.entries(options).map(
    ([option, { value, about: text, required }]) =>
      [`--${option} ${value}`, required ? `${text} Required.` : text] as const,
  );
  return `Usage: ${USAGE} ${name} [options]\n\n${about}\n\nOptions:\n${lines([...described, ...COMMON])}`;
}
