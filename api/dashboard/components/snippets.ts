import { readFileSync } from 'node:fs';
import { secretFields, type ToolDefinition } from '../../../schemas/tool.ts';
import { type Html, html } from '../frame/html.ts';
import { code, tabs } from './tabs.ts';

/** Quotes a text for a POSIX shell. */
const shell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

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
  /** Writes a JSON value as a literal of the language. */
  literal(value: unknown): string;
  /** The expression in the template that reads the key from the environment. */
  keyReference: RegExp;
  /** Source text with the placeholders `{url}` and `{input}`. */
  template: string;
}

const template = (name: string): string =>
  readFileSync(new URL(`./snippets/${name}.txt`, import.meta.url), 'utf8').trimEnd();

const json = (value: unknown): string => JSON.stringify(value);

const LANGUAGES: readonly Language[] = [
  {
    title: 'curl',
    literal: (value) => shell(typeof value === 'string' ? value : json(value)),
    keyReference: /\$UTILITY_TOOLS_API_KEY/,
    template: template('curl'),
  },
  {
    title: 'Node.js',
    literal: json,
    keyReference: /\$\{process\.env\.UTILITY_TOOLS_API_KEY\}/,
    template: template('node'),
  },
  {
    title: 'Python',
    literal: python,
    keyReference: /\{os\.environ\['UTILITY_TOOLS_API_KEY'\]\}/,
    template: template('python'),
  },
];

interface Call {
  tool: ToolDefinition;
  input: Readonly<Record<string, unknown>>;
  baseUrl: string;
}

/** Returns a call as source code in several languages. @param key written into the code; by default it reads the environment */
export function callSnippets(
  { tool, input, baseUrl }: Call,
  key?: string,
): { title: string; text: string }[] {
  const url = `${baseUrl}/api/v1/tools/${tool.name}`;
  return LANGUAGES.map(({ title, literal, keyReference, template: text }) => ({
    title,
    text: (key === undefined ? text : text.replace(keyReference, () => key)).replaceAll(
      /\{(url|input)\}/g,
      (_, name) => literal(name === 'url' ? url : input),
    ),
  }));
}

const inTabs = (items: readonly { title: string; text: string }[]): Html =>
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
  return html`<p>Set the environment variable <code>UTILITY_TOOLS_API_KEY</code> to one of your <a href="/dashboard/keys">keys</a>:</p>
${inTabs(callSnippets({ tool, input: shown, baseUrl }))}`;
}

/** A call as source code with the key in it. */
export const snippetsWithKey = (call: Call, key: string): Html => inTabs(callSnippets(call, key));
