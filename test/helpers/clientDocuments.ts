import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { snippetsOf } from './guideSnippets.ts';

const run = promisify(execFile);
const LIMIT_MS = 60_000;

/** The values that the READMEs assume, from the environment. */
const GIVEN_JS = `
const { secret, headers, body: rawBody } = JSON.parse(process.env.DELIVERY);
const request = { headers };
`;

/** Executes snippets one after the other, each with the values that the README assumes. */
const PYTHON = `
import json, os, sys
from types import SimpleNamespace
from utility_tools import UtilityTools

delivery = json.loads(os.environ["DELIVERY"])
given = {
    "client": UtilityTools(os.environ["UTILITY_TOOLS_API_KEY"], base_url=os.environ["UTILITY_TOOLS_URL"]),
    "secret": delivery["secret"],
    "request": SimpleNamespace(headers=delivery["headers"]),
    "raw_body": delivery["body"].encode(),
}
for code in json.load(sys.stdin):
    exec(compile(code, "snippet", "exec"), dict(given))
`;

interface Options {
  cwd: string;
  /** With the URL of the service, keys, and a delivery as JSON. */
  env: NodeJS.ProcessEnv;
}

/**
 * The snippets of a document in a language, for the service in the environment. A call of web-scrape has an invalid URL
 * instead, so that the handling of errors runs too.
 */
const snippets = async (document: string, language: string, { env }: Options): Promise<string[]> =>
  snippetsOf(await readFile(new URL(`../../${document}`, import.meta.url), 'utf8'))
    .filter((it) => it.language === language)
    .map(({ code }) =>
      code
        .replaceAll('http://127.0.0.1:8080', env.UTILITY_TOOLS_URL ?? '')
        .replace(/(scrape\(\{ ?"?url"?: ['"])https:\/\/example\.com\//i, '$1none'),
    );

/** Runs the JavaScript snippets of a document as one program. @returns what they print */
export async function runJavaScriptOf(document: string, options: Options): Promise<string> {
  const codes = await snippets(document, 'js', options);
  await writeFile(join(options.cwd, 'document.mjs'), [GIVEN_JS, ...codes].join('\n'));
  return (await run(process.execPath, ['document.mjs'], { ...options, timeout: LIMIT_MS })).stdout;
}

/** Runs the Python snippets of a document in one process. @returns what they print */
export async function runPythonOf(document: string, python: string, options: Options): Promise<string> {
  const running = run(python, ['-c', PYTHON], { ...options, timeout: LIMIT_MS });
  running.child.stdin?.end(JSON.stringify(await snippets(document, 'python', options)));
  return (await running).stdout;
}
