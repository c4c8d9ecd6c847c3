import { execFile } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';
import { recordAt } from './json.ts';

const run = promisify(execFile);

/** The environment variable from which examples, configurations of agents and the clients read the key. */
export const KEY_VARIABLE = 'UTILITY_TOOLS_API_KEY';
/** The environment variable from which examples of the Account API read the key. */
export const ACCOUNT_KEY_VARIABLE = 'UTILITY_TOOLS_ACCOUNT_KEY';

/** The id of the input with which VS Code asks for the key. */
const INPUT_ID = 'utility-tools-key';

/** URL to which a client sends its requests, and the `Authorization` header that it sends. */
export interface Connection {
  url: string;
  authorization: string;
}

/** Reads a client's configuration by the rules of that client. @throws if the client would not connect with it */
type Reader = (code: string, key: string) => Promise<Connection>;

const text = (value: unknown): string => {
  if (typeof value !== 'string') throw new Error(`${JSON.stringify(value)} is no string`);
  return value;
};

/** Replaces the reference to the key, which the client expands. */
function expand(value: unknown, reference: string, key: string): string {
  const given = text(value);
  if (!given.includes(reference)) throw new Error(`${given} does not contain ${reference}`);
  return given.replace(reference, () => key);
}

/** A JSON file with servers by name, whose headers are an object. */
const jsonFile =
  (
    section: string,
    address: string,
    reference: string,
    check: (file: unknown) => void = () => undefined,
  ): Reader =>
  async (code, key) => {
    const file: unknown = JSON.parse(code);
    check(file);
    const server = recordAt(file, section, 'utility-tools');
    return {
      url: text(server[address]),
      authorization: expand(recordAt(server, 'headers').Authorization, reference, key),
    };
  };

/** The arguments that a command in a shell passes to a program. */
async function argumentsOf(program: string, code: string, key: string): Promise<string[]> {
  const { stdout } = await run('sh', ['-c', `${program}() { printf '%s\\0' "$@"; }\n${code}`], {
    env: { PATH: process.env.PATH ?? '', [KEY_VARIABLE]: key },
  });
  return stdout.split('\0').slice(0, -1);
}

const READERS: Readonly<Record<string, Reader>> = {
  async 'Claude Code'(code, key) {
    const { values, positionals } = parseArgs({
      args: await argumentsOf('claude', code, key),
      options: { transport: { type: 'string' }, header: { type: 'string' } },
      allowPositionals: true,
    });
    const [group, command, , url] = positionals;
    if (`${group} ${command}` !== 'mcp add' || values.transport !== 'http') throw new Error(code);
    const [, authorization] = /^Authorization: (.+)$/.exec(values.header ?? '') ?? [];
    return { url: text(url), authorization: text(authorization) };
  },
  Cursor: jsonFile('mcpServers', 'url', `\${env:${KEY_VARIABLE}}`),
  'VS Code': jsonFile('servers', 'url', `\${input:${INPUT_ID}}`, (file) => {
    const [input] = [recordAt(file).inputs].flat();
    const { id, type, password } = recordAt(input);
    if (id !== INPUT_ID || type !== 'promptString' || password !== true) throw new Error('no input');
    if (recordAt(file, 'servers', 'utility-tools').type !== 'http') throw new Error('not of type http');
  }),
  async Codex(code, key) {
    const parse = 'import json, sys, tomllib; json.dump(tomllib.loads(sys.stdin.read()), sys.stdout)';
    const running = run('python3', ['-c', parse]);
    running.child.stdin?.end(code);
    const server = recordAt(JSON.parse((await running).stdout), 'mcp_servers', 'utility-tools');
    if (server.bearer_token_env_var !== KEY_VARIABLE) throw new Error('no variable with the key');
    return { url: text(server.url), authorization: `Bearer ${key}` };
  },
  'Gemini CLI': jsonFile('mcpServers', 'httpUrl', `$${KEY_VARIABLE}`),
};

/**
 * Reads the configurations in docs/agents.md, each by the rules of its client, with a key in place of the reference to
 * it.
 *
 * @param guide the page in Markdown
 */
export async function agentConnections(guide: string, key: string): Promise<Map<string, Connection>> {
  const connections = new Map<string, Connection>();
  for (const [name, read] of Object.entries(READERS)) {
    const [, section = ''] = guide.split(`\n### ${name}\n`);
    const [, code] = /^```\w+\n(.*?)^```$/ms.exec(section) ?? [];
    connections.set(name, await read(text(code), key));
  }
  return connections;
}
