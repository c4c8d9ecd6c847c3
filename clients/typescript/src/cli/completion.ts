import { type Command, flagOf, readsFile } from './command.ts';
import { UsageError } from './exit.ts';
import { SHARED_OPTIONS, type Subcommand } from './subcommand.ts';

/** The words that can follow a command. */
interface Words {
  name: string;
  flags: string[];
}

const SHELLS = ['bash', 'zsh', 'fish'];

function wordsOf(
  tools: readonly Command[],
  others: readonly Subcommand[],
  global: readonly string[],
): Words[] {
  const toolFlags = ({ options }: Command) =>
    options.flatMap((option) =>
      option.kind === 'boolean' ? [`--${flagOf(option)}`, `--no-${flagOf(option)}`] : [`--${flagOf(option)}`],
    );
  return [
    ...tools.map((tool) => ({
      name: tool.name,
      flags: [...toolFlags(tool), ...(readsFile(tool) ? ['--file'] : []), ...global],
    })),
    ...others.map(({ name, options }) => ({
      name,
      flags: Object.keys({ ...options, ...SHARED_OPTIONS }).map((flag) => `--${flag}`),
    })),
  ];
}

/** zsh runs the functions of bash for completion. */
const bash = (words: readonly Words[]): string => `_utility_tools() {
  local words="${words.map(({ name }) => name).join(' ')} completion --help --version"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "\${COMP_WORDS[1]}" in
${words.map(({ name, flags }) => `      ${name}) words="${flags.join(' ')}" ;;\n`).join('')}      *) words="" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _utility_tools utility-tools
`;

const fish = (words: readonly Words[]): string =>
  `complete -c utility-tools -n __fish_use_subcommand -f -a "${words.map(({ name }) => name).join(' ')}"\n${words
    .flatMap(({ name, flags }) =>
      flags.map(
        (flag) => `complete -c utility-tools -n "__fish_seen_subcommand_from ${name}" -l ${flag.slice(2)}\n`,
      ),
    )
    .join('')}`;

/** The script that makes a shell complete the command. @param global options of every tool, with hyphens @throws UsageError */
export function completionScript(
  shell: string,
  tools: readonly Command[],
  others: readonly Subcommand[],
  global: readonly string[],
): string {
  if (!SHELLS.includes(shell)) throw new UsageError(`completion takes one of ${SHELLS.join(', ')}.`);
  const words = wordsOf(tools, others, global);
  if (shell === 'fish') return fish(words);
  return shell === 'zsh' ? `autoload -U +X bashcompinit && bashcompinit\n${bash(words)}` : bash(words);
}
