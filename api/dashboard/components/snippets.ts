import { readFileSync } from 'node:fs';
import { secretFields, type ToolDefinition } from '../../../schemas/tool.ts';
import { type Html, html } from '../html.ts';

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
  /** Source text with the placeholders `{url}` and `{input}`. */
  template: string;
}

const template = (name: string): string =>
  readFileSync(new URL(`../snippets/${name}.txt`, import.meta.url), 'utf8').trimEnd();

const json = (value: unknown): string => JSON.stringify(value);

const LANGUAGES: readonly Language[] = [
  {
    title: 'curl',
    literal: (value) => shell(typeof value === 'string' ? value : json(value)),
    template: template('curl'),
  },
  { title: 'Node.js', literal: json, template: template('node') },
  { title: 'Python', literal: python, template: template('python') },
];

/** The form's call as source code in several languages; secrets are replaced by an ellipsis. */
export function snippets(
  tool: ToolDefinition,
  input: Readonly<Record<string, unknown>>,
  baseUrl: string,
): Html {
  const secrets = secretFields(tool);
  const open = Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, secrets.includes(name) ? '…' : value]),
  );
  const url = `${baseUrl}/api/v1/tools/${tool.name}`;
  const fill = ({ literal, template: text }: Language) =>
    text.replaceAll(/\{(url|input)\}/g, (_, name) => literal(name === 'url' ? url : open));
  return html`<p>Set the environment variable <code>API_KEY</code> to one of your <a href="/dashboard/keys">keys</a>:</p>
${LANGUAGES.map(
  (language) => html`<h3>${language.title}</h3>
<pre tabindex="0" role="region" aria-label="${language.title}">${fill(language)}</pre>
`,
)}`;
}
