import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'cheerio';
import { KEY_VARIABLE } from './agentClients.ts';

const run = promisify(execFile);
const LIMIT_MS = 150_000;

/** Runs each snippet as the body of a module, with a `console` that records what is logged. */
const NODE = `
import { json } from 'node:stream/consumers';
const AsyncFunction = (async () => undefined).constructor;
const logged = async (code) => {
  const values = [];
  await new AsyncFunction('console', code)({ log: (...more) => values.push(...more) });
  return values;
};
console.log(JSON.stringify(await Promise.all((await json(process.stdin)).map(logged))));
`;

/** Executes each snippet in a thread, with a `print` that records its arguments. */
const PYTHON = `
import json, sys
from concurrent.futures import ThreadPoolExecutor

def printed(code):
    values = []
    exec(compile(code, "snippet", "exec"), {"print": lambda *more: values.extend(more)})
    return values

codes = json.load(sys.stdin)
with ThreadPoolExecutor(len(codes)) as threads:
    json.dump(list(threads.map(printed, codes)), sys.stdout)
`;

type Runner = (codes: readonly string[], env: NodeJS.ProcessEnv) => Promise<unknown>;

/** Runs a program that reads the snippets as JSON and writes what they print as JSON. */
const withProgram =
  (command: string, ...args: string[]): Runner =>
  async (codes, env) => {
    const running = run(command, args, { env, timeout: LIMIT_MS, maxBuffer: 64 * 2 ** 20 });
    running.child.stdin?.end(JSON.stringify(codes));
    return JSON.parse((await running).stdout);
  };

/** Runs all snippets in one shell; curl adds the status to what it prints. */
const withShell: Runner = async (codes, env) => {
  const folder = await mkdtemp(join(tmpdir(), 'tool-snippets-'));
  try {
    const calls = codes.map(
      (code, index) => `{\n${code.replace(/^curl /, "curl -sS -w '\\n%{http_code}' ")}\n} > ${index} &`,
    );
    await writeFile(join(folder, 'main.sh'), [...calls, 'wait'].join('\n'));
    await run('sh', ['main.sh'], { cwd: folder, env, timeout: LIMIT_MS });
    const printed = await Promise.all(codes.map((_, index) => readFile(join(folder, `${index}`), 'utf8')));
    return printed.map((text) => {
      const [, body = '', status] = /^(.*)\n(\d+)$/s.exec(text) ?? [];
      return [Number(status), JSON.parse(body)];
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Runs snippets by the title of their language on the pages. */
const RUNNERS = {
  curl: withShell,
  'Node.js': withProgram(process.execPath, '--input-type=module', '-e', NODE),
  Python: withProgram('python3', '-c', PYTHON),
} as const;

type SnippetLanguage = keyof typeof RUNNERS;
export const SNIPPET_LANGUAGES: readonly SnippetLanguage[] = ['curl', 'Node.js', 'Python'];

/** The snippets of a tool's page in one language, one for each example. */
export function snippetsOfPage(html: string, language: SnippetLanguage): string[] {
  const $ = load(html);
  return $('.example details')
    .toArray()
    .filter((it) => $(it).children('summary').text() === language)
    .map((it) => $(it).find('pre').text());
}

/**
 * Runs snippets at the same time in one process, with the key in the environment variable that they read.
 *
 * @returns for each snippet the values that it prints: the status and the body of the response
 * @throws if one of them fails
 */
export async function runSnippets(
  language: SnippetLanguage,
  codes: readonly string[],
  apiKey: string,
): Promise<unknown[]> {
  const printed = await RUNNERS[language](codes, { ...process.env, [KEY_VARIABLE]: apiKey });
  if (!Array.isArray(printed)) throw new Error('no list of what the snippets print');
  return printed;
}
