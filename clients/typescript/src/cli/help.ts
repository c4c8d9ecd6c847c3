import { type Command, type CommandOption, flagOf, readsFile } from './command.ts';
import { EXIT } from './exit.ts';
import type { Subcommand } from './subcommand.ts';

const GLOBAL = `Options of every tool:
  -o, --output FILE          Where to save the file of a tool that creates one; - is standard output
      --json                 Print the output as JSON
      --input FILE           Read the input as a JSON object from FILE, or from standard input with -;
                             other options override its fields
      --async                Create a job, print its id and exit; "utility-tools result JOB" waits for it
      --max-credits N        Do not run the call if it costs more than N credits
      --timeout SECONDS      Give up after this time, all retries included (default: 300)
      --idempotency-key KEY  Repeat an earlier call: within 24 hours, its result is free
      --base-url URL         URL of the service
  -q, --quiet                Print no progress on standard error
  -h, --help                 Print this help
`;

const FILE = `  --file FILE
      Send this file instead of --file-url.
`;

const ENVIRONMENT = `Environment:
  UTILITY_TOOLS_API_KEY      API key of scope "tools" (default: the key of "utility-tools login")
  UTILITY_TOOLS_ACCOUNT_KEY  API key of scope "account" (default: the key of "utility-tools login --account")
  UTILITY_TOOLS_URL          URL of the service (default: that of the key of "login", or else http://127.0.0.1:8080)
`;

const exitCodes = (): string =>
  `Exit codes:\n${Object.values(EXIT)
    .map(({ code, about }) => `  ${String(code).padStart(3)}  ${about}\n`)
    .join('')}`;

const credits = (price: number): string => (price === 1 ? '1 credit' : `${price} credits`);

/** Breaks a text into lines of at most `width` characters, each with an indent. */
function wrap(text: string, indent: number, width = 100): string {
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const line = lines[lines.length - 1] ?? '';
    if (line !== '' && line.length + word.length + 1 > width - indent) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => `${' '.repeat(indent)}${line}\n`).join('');
}

const VALUES: Readonly<Record<CommandOption['kind'], string>> = {
  string: ' TEXT',
  integer: ' N',
  number: ' N',
  boolean: '',
  list: ' TEXT',
  json: ' JSON',
};

function optionHelp(option: CommandOption): string {
  const { kind, isRequired, isSecret, choices, fallback, about } = option;
  const flag = flagOf(option);
  const notes = [
    ...(isRequired ? ['Required.'] : []),
    ...(choices === undefined ? [] : [`One of: ${choices.join(', ')}.`]),
    ...(fallback === undefined ? [] : [`Default: ${fallback}.`]),
    ...(kind === 'list' ? ['Can be repeated.'] : []),
    ...(kind === 'json' ? ['JSON or text.'] : []),
    ...(isSecret ? ['Secret: pass it with --input, because other users can see command lines.'] : []),
  ];
  return `  --${kind === 'boolean' ? `[no-]${flag}` : flag}${VALUES[kind]}\n${wrap(`${about} ${notes.join(' ')}`.trim(), 6)}`;
}

/** Help of one tool. */
export const toolHelp = (
  command: Command,
): string => `Usage: utility-tools ${command.name} [options]${command.file === null ? '' : ' -o FILE'}

${wrap(`${command.title} (${credits(command.price)}). ${command.description}`, 0)}
Input:
${command.options.map(optionHelp).join('')}${readsFile(command) ? FILE : ''}
${GLOBAL}
${ENVIRONMENT}
${exitCodes()}`;

/** Help of the program. */
export function programHelp(commands: readonly Command[], others: readonly Subcommand[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const rows = commands.map(
    ({ name, title, price }) => `  ${name.padEnd(width)}  ${title} (${credits(price)})\n`,
  );
  return `Usage: utility-tools TOOL [options]

Tools (the service may have changed its prices):
${rows.join('')}
utility-tools TOOL --help lists the options of a tool.

Other commands:
${others.map(({ name, usage, about }) => `  ${`${name} ${usage}`.trim()}\n${wrap(about, 6)}`).join('')}  completion bash|zsh|fish
      Print a script that makes the shell complete commands and options.
  --version
      Print the version.

${ENVIRONMENT}
${exitCodes()}`;
}
