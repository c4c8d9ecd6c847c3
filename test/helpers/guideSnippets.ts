import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { go } from '../provision/items/go.ts';

const run = promisify(execFile);

export interface Snippet {
  /** Word after the fence. */
  language: string;
  code: string;
}

/** The code blocks of a page in Markdown. */
export const snippetsOf = (markdown: string): Snippet[] =>
  [...markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({
    language,
    code,
  }));

interface Program {
  file: string;
  command: () => Promise<string>;
  args?: readonly string[];
}

const node = async () => process.execPath;

/** How a program in this language is run; other languages are not. */
const PROGRAMS: Readonly<Record<string, Program>> = {
  sh: { file: 'main.sh', command: async () => 'sh', args: ['-e'] },
  js: { file: 'main.mjs', command: node },
  ts: { file: 'main.mts', command: node },
  python: { file: 'main.py', command: async () => 'python3' },
  php: { file: 'main.php', command: async () => 'php' },
  go: {
    file: 'main.go',
    command: () => go.get((line) => process.stderr.write(`${line}\n`)),
    args: ['run'],
  },
};

const PACKAGES = fileURLToPath(new URL('../../node_modules', import.meta.url));

/**
 * Runs a snippet in a folder of its own, which contains the packages of this project. Resolves with what it prints. The
 * first run in Go is slow, because it compiles Go's standard library.
 *
 * @param files further files of the folder
 * @throws if it fails
 */
export async function runSnippet(
  { language, code }: Snippet,
  env: Record<string, string>,
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const program = PROGRAMS[language];
  if (program === undefined) throw new Error(`no program for ${language}`);
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-snippet-'));
  try {
    const file = join(folder, program.file);
    await writeFile(file, code);
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    await symlink(PACKAGES, join(folder, 'node_modules'));
    const { stdout } = await run(await program.command(), [...(program.args ?? []), file], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? folder, ...env },
      timeout: 170_000,
    });
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
