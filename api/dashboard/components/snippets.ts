import { readFileSync } from 'node:fs';
import { secretFields, type ToolDefinition } from '../../../schemas/tool.ts';
import { type Html, html } from '../frame/html.ts';
import { code, tabs } from './tabs.ts';

/** Environment variables with the keys, by scope; the clients read the same ones. */
export const KEY_VARIABLES = {
  tools: 'UTILITY_TOOLS_API_KEY',
  account: 'UTILITY_TOOLS_ACCOUNT_KEY',
} as const;

/** Quotes a text for a POSIX shell. */
const shell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Writes a text as a PHP literal. */
const php = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;

/** Writes a text as a Go literal; the escapes of JSON are also those of Go. */
const go = (text: string): string => (text.includes('`') ? JSON.stringify(text) : `\`${text}\``);

/** Writes a JSON value as a Python literal. */
function python(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([name, inner]) => `${JSON.stringify(name)}: ${python(inner)}`)
      .join(', ')}}`;
  return JSON.stringify(value);
}

interface Language {
  title: string;
  /** Word after the fence of a code block in Markdown. */
  name: string;
  /** Writes the URL as a literal of the language. */
  url(text: string): string;
  /** Writes the body as an expression of the language. */
  input(value: unknown): string;
  /**
   * Source text with the placeholders `{url}`, `{method}`, `{variable}`, `{key}`, `{input}`, `{type}`, `{file}` and `{source}`. A line that begins with `?` and
   * a condition of `conditionsOf` is only part of requests that meet it.
   */
  template: string;
}

const template = (name: string): string =>
  readFileSync(new URL(`./snippets/${name}.txt`, import.meta.url), 'utf8').trimEnd();

const json = (value: unknown): string => JSON.stringify(value);

const LANGUAGES: readonly Language[] = [
  {
    title: 'curl',
    name: 'sh',
    url: shell,
    input: (value) => shell(json(value)),
    template: template('curl'),
  },
  { title: 'Node.js', name: 'js', url: json, input: json, template: template('node') },
  { title: 'Python', name: 'python', url: json, input: python, template: template('python') },
  { title: 'Go', name: 'go', url: json, input: (value) => go(json(value)), template: template('go') },
  { title: 'PHP', name: 'php', url: php, input: (value) => php(json(value)), template: template('php') },
];

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  url: string;
  /** Body, sent as JSON. */
  input?: unknown;
  /** Scope of the key; null: no key is needed. */
  scope: keyof typeof KEY_VARIABLES | null;
  /** Whether the successful response has no body. */
  isEmpty?: boolean;
  /** The file that curl asks for in place of JSON, and saves. */
  file?: { name: string; mimeType: string };
  /** Name of the file that is sent. */
  source?: string;
}

function conditionsOf(
  { method, input, scope, isEmpty, file, source }: ApiRequest,
  key: string | undefined,
): Set<string> {
  const hasBody = input !== undefined;
  return new Set([
    ...(scope === null ? [] : [key === undefined ? 'env' : 'literal']),
    hasBody ? 'body' : source === undefined ? 'bodiless' : 'upload',
    isEmpty ? 'empty' : 'result',
    ...(file === undefined ? [] : ['file']),
    // curl sends a POST if there is a body, and else a GET.
    ...(method === (hasBody || source !== undefined ? 'POST' : 'GET') ? [] : ['method']),
  ]);
}

/** A snippet in a language, whose `name` is the word after the fence of a code block. */
export interface Snippet extends Pick<Language, 'title' | 'name'> {
  text: string;
}

/** Returns a request as source code in five languages. @param key written into the code; by default it reads the environment */
export function requestSnippets(request: ApiRequest, key?: string): Snippet[] {
  const conditions = conditionsOf(request, key);
  return LANGUAGES.map(({ title, name, url, input, template: source }) => {
    const values: Readonly<Record<string, string>> = {
      url: url(request.url),
      method: request.method,
      input: input(request.input ?? null),
      variable: KEY_VARIABLES[request.scope ?? 'tools'],
      key: key ?? '',
      type: request.file?.mimeType ?? '',
      file: shell(request.file?.name ?? ''),
      source: request.source ?? '',
    };
    const text = source
      .split('\n')
      .flatMap((line) => {
        const [, condition, rest = line] = /^\?(\w+) (.*)$/.exec(line) ?? [];
        return condition === undefined || conditions.has(condition) ? [rest] : [];
      })
      .join('\n')
      .replace(/ \\$/, '')
      .replaceAll(
        /\{(url|method|input|variable|key|type|file|source)\}/g,
        (_all, value: string) => values[value] ?? '',
      );
    return { title, name, text };
  });
}

interface Call {
  tool: ToolDefinition;
  input: Readonly<Record<string, unknown>>;
  baseUrl: string;
}

/** Returns a call of a tool as source code. @param key written into the code; by default it reads the environment */
export const callSnippets = ({ tool, input, baseUrl }: Call, key?: string): Snippet[] =>
  requestSnippets(
    { method: 'POST', url: `${baseUrl}/api/v1/tools/${tool.name}`, input, scope: 'tools' },
    key,
  );

/** Returns a call with curl that saves the tool's file. */
export const fileSnippet = ({ tool, input, baseUrl }: Call, file: NonNullable<ApiRequest['file']>): string =>
  requestSnippets({
    method: 'POST',
    url: `${baseUrl}/api/v1/tools/${tool.name}`,
    input,
    scope: 'tools',
    file,
  })[0]?.text ?? '';

const inTabs = (items: readonly Snippet[]): Html =>
  tabs(
    'Language',
    items.map(({ title, text }) => ({ title, content: code(title, text) })),
  );

/** The form's call as source code, which reads the key from the environment. An ellipsis replaces each secret field. */
export function snippets({ tool, input, baseUrl }: Call): Html {
  const secrets = secretFields(tool);
  const shown = Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, secrets.includes(name) ? '…' : value]),
  );
  return html`<p>Set the environment variable <code>${KEY_VARIABLES.tools}</code> to one of your <a href="/dashboard/keys">keys</a>:</p>
${inTabs(callSnippets({ tool, input: shown, baseUrl }))}`;
}

/** A call as source code with the key in it. */
export const snippetsWithKey = (call: Call, key: string): Html => inTabs(callSnippets(call, key));
