import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

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

/** How a program in this language is run; other languages are not. */
const PROGRAMS: Readonly<Record<string, { file: string; command: string }>> = {
  sh: { file: 'main.sh', command: 'sh' },
  js: { file: 'main.mjs', command: process.execPath },
  python: { file: 'main.py', command: 'python3' },
};

export const isRunnable = ({ language }: Snippet): boolean => Object.hasOwn(PROGRAMS, language);

/** Runs a snippet in a folder of its own. Resolves with what it prints. @throws if it fails */
export async function runSnippet({ language, code }: Snippet, env: Record<string, string>): Promise<string> {
  const program = PROGRAMS[language];
  if (program === undefined) throw new Error(`no program for ${language}`);
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-snippet-'));
  try {
    const file = join(folder, program.file);
    await writeFile(file, code);
    const { stdout } = await run(program.command, [file], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', ...env },
      timeout: 60_000,
    });
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
