import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { go } from '../provision/items/go.ts';

const run = promisify(execFile);

/** A webhook delivery whose signature a receiver must check. */
export interface Claim {
  secret: string;
  /** Value of the timestamp header; absent if the header was not sent. */
  timestamp?: string;
  /** Value of the signature header; absent if the header was not sent. */
  signature?: string;
  body: string;
}

/** Returns the signature verification snippet in this language from docs/webhooks.md. */
async function snippet(language: string): Promise<string> {
  const guide = await readFile(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
  const [, section = ''] = guide.split('\n## Verify the signature\n');
  const [, code] = section.split(`\n\`\`\`${language}\n`);
  const [block] = code?.split('\n```\n') ?? [];
  if (block === undefined) throw new Error(`docs/webhooks.md has no ${language} snippet`);
  return `${block}\n`;
}

/** A program that runs a snippet on the claims in claims.json and prints the results as JSON. */
interface Harness {
  snippet: string;
  files: Record<string, string>;
  program(): Promise<string>;
  /** Arguments with which the program compiles the files to the program `check`; null if it runs them as they are. */
  build: string[] | null;
  args: string[];
}

const HARNESSES: Record<'js' | 'python' | 'go', Harness> = {
  js: {
    snippet: 'verify.mjs',
    files: {
      'main.mjs': `import { readFileSync } from 'node:fs';
import { isGenuine } from './verify.mjs';
const claims = JSON.parse(readFileSync('claims.json', 'utf8'));
console.log(JSON.stringify(claims.map((it) => isGenuine(it.secret, it.timestamp, it.signature, it.body))));
`,
    },
    program: async () => process.execPath,
    build: null,
    args: ['main.mjs'],
  },
  python: {
    snippet: 'verify.py',
    files: {
      'main.py': `import json
from verify import is_genuine
claims = json.load(open("claims.json", encoding="utf-8"))
print(json.dumps([is_genuine(c["secret"], c.get("timestamp"), c.get("signature"), c["body"].encode()) for c in claims]))
`,
    },
    program: async () => 'python3',
    build: null,
    args: ['main.py'],
  },
  go: {
    snippet: 'webhook/verify.go',
    files: {
      'go.mod': 'module check\n\ngo 1.19\n',
      'main.go': `package main

import (
	"encoding/json"
	"os"

	"check/webhook"
)

func main() {
	var claims []struct{ Secret, Timestamp, Signature, Body string }
	text, err := os.ReadFile("claims.json")
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err != nil {
		panic(err)
	}
	genuine := []bool{}
	for _, c := range claims {
		genuine = append(genuine, webhook.IsGenuine(c.Secret, c.Timestamp, c.Signature, []byte(c.Body)))
	}
	json.NewEncoder(os.Stdout).Encode(genuine)
}
`,
    },
    program: () => go.get((line) => process.stderr.write(`${line}\n`)),
    build: ['build', '-o', 'check', '.'],
    args: [],
  },
};
export type Language = keyof typeof HARNESSES;
export const LANGUAGES: readonly Language[] = ['js', 'python', 'go'];

/**
 * Runs the snippet of docs/webhooks.md on each claim and returns whether it accepts the claim.
 *
 * @param makeClaims is called when the snippet is compiled, so that the timestamps of the claims are recent. In Go that
 *   takes long the first time, because it includes the standard library.
 */
export async function verdicts(language: Language, makeClaims: () => readonly Claim[]): Promise<boolean[]> {
  const folder = await mkdtemp(join(tmpdir(), 'webhook-'));
  try {
    const harness = HARNESSES[language];
    await mkdir(join(folder, 'webhook'));
    await writeFile(join(folder, harness.snippet), await snippet(language));
    for (const [name, text] of Object.entries(harness.files)) await writeFile(join(folder, name), text);
    const options = { cwd: folder, timeout: 170_000 };
    const program = await harness.program();
    if (harness.build !== null) await run(program, harness.build, options);
    await writeFile(join(folder, 'claims.json'), JSON.stringify(makeClaims()));
    const file = harness.build === null ? program : join(folder, 'check');
    const { stdout } = await run(file, harness.args, options);
    return JSON.parse(stdout);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
