import { existsSync, readFileSync } from 'node:fs';
import { creditsOf } from '../../schemas/callErrors.ts';
import type { ErrorCode } from '../../schemas/errors.ts';
import { ERRORS } from '../../schemas/errors.ts';
import type { Pack } from '../../schemas/formats/packs.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import { secretFields, type ToolDefinition } from '../../schemas/tool.ts';
import { summaryOf } from '../../schemas/toolGroups.ts';
import { moneyOf } from '../billing/prices.ts';
import { DEFAULT_BODY_BYTES } from '../calls/toolRoutes.ts';
import { callSnippets } from '../dashboard/components/snippets.ts';
import { paragraphs } from '../dashboard/components/text.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { codesOfTool } from '../openapi/codes.ts';
import { REMEDIES } from '../openapi/remedies.ts';
import { errorList } from './errorTable.ts';
import { fieldLines, fieldList, fieldsOf } from './fields.ts';
import { codeBlock } from './highlight.ts';
import { renderInline, renderMarkdown } from './markdown.ts';
import type { Page } from './page.ts';
import { pictureFigure } from './pictures.ts';

/** Longer strings in examples, such as base64 files, are truncated. */
const SHOWN_CHARACTERS = 100;

const shorten = (_key: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > SHOWN_CHARACTERS ? `${value.slice(0, 48)}…` : value;

/** An example's output as JSON; long strings are truncated. */
export const outputOf = (output: Record<string, unknown>): string => JSON.stringify(output, shorten, 2);

/** Lines of the form's request that are visible without scrolling. */
const LONGEST_INPUT = 12;
const MEGABYTE = 1_048_576;

/** Rows of the table of limits: name and Markdown. */
function limitRows(tool: ToolDefinition): [string, string][] {
  const { price, pool, limits, actsOnWorld, raw } = tool;
  const secrets = secretFields(tool);
  return [
    ['Price', `${creditsOf(price)} for a result, 0 for an error`],
    ['Request body', `${(limits.bodyBytes ?? DEFAULT_BODY_BYTES) / MEGABYTE} MB`],
    ['Time limit', `${limits.workMs / 1000} s`],
    ['Concurrent calls', `At most 64 per account in all tools of the pool \`${pool}\` together`],
    [
      'Repeating with the same Idempotency-Key',
      secrets.length > 0
        ? `Fails with \`idempotency_key_used\`, because ${secrets.map((name) => `\`${name}\``).join(' and ')} cannot be stored`
        : 'Returns the stored response and is not charged',
    ],
    ...(actsOnWorld === undefined
      ? []
      : [['Side effects', 'A call that may change something at its target is sent at most once'] as const]),
    ...(raw === undefined
      ? []
      : [['Raw file', `With \`Accept: ${mimeTypes(tool)[0]}\` the response is the file itself`] as const]),
  ].map(([name, value]) => [name ?? '', value ?? '']);
}

/** Media types of the tool's file. */
function mimeTypes({ raw, output }: ToolDefinition): string[] {
  const property = raw === undefined ? undefined : output.properties[raw.mimeType];
  if (!isRecord(property)) return [];
  const { enum: values, const: only } = property;
  return (Array.isArray(values) ? values : [only]).filter((it) => typeof it === 'string');
}

/** Questions about the tool and their answers in Markdown, with headings of the third level; null if there are none. */
function questionsOf({ name }: Pick<ToolDefinition, 'name'>): string | null {
  const file = new URL(`./questions/${name}.md`, import.meta.url);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

function exampleMarkup(tool: ToolDefinition, baseUrl: string): Html {
  const languages = [
    { title: 'curl', language: 'sh' },
    { title: 'Node.js', language: 'js' },
    { title: 'Python', language: 'python' },
  ];
  return html`${tool.examples.map(({ input, output }, index) => {
    const snippets = callSnippets({ tool, input, baseUrl });
    return html`<div class="example">
${languages.map(({ title, language }, position) => {
  const code = snippets.find((it) => it.title === title)?.text ?? '';
  return html`<details name="request-${index}"${position === 0 ? html` open` : null}>
<summary>${title}</summary>
${codeBlock(code, language)}</details>
`;
})}${codeBlock(outputOf(output), 'json', 'Response')}</div>
`;
  })}`;
}

/**
 * A form that runs the tool with the visitor's key. The script run.js shows it. The request has only the required fields,
 * because the small sizes in examples are useless in a paid call.
 */
function runMarkup({ name, price, examples, input: { required } }: ToolDefinition): Html {
  const fields = Object.entries(examples[0]?.input ?? {}).filter(([field]) => required.includes(field));
  const input = JSON.stringify(Object.fromEntries(fields), null, 2);
  return html`<details class="try run" hidden>
<summary>Run it with your key</summary>
<form data-path="/api/v1/tools/${name}">
<p class="whole"><label for="run-key">API key, kept only on this page until you leave it</label>
<input id="run-key" type="password" autocomplete="off" required></p>
<p class="whole"><label for="run-input">Request</label>
<textarea id="run-input" rows="${Math.min(input.split('\n').length, LONGEST_INPUT)}" spellcheck="false">${input}</textarea></p>
<p><button class="button primary">Run (${creditsOf(price)})</button></p>
</form>
<div class="ending" role="status"></div>
</details>
`;
}

const errorMarkup = (own: readonly ErrorCode[], common: readonly ErrorCode[]): Html => {
  const link = (code: ErrorCode) => html`<a href="/docs/errors#${code}"><code>${code}</code></a>`;
  return html`${
    own.length === 0
      ? null
      : html`<ul class="fields">
${own.map(
  (code) => html`<li><p>${link(code)} <span class="type">${ERRORS[code].status}</span></p>
<p>${ERRORS[code].detail} ${REMEDIES[code]}</p></li>
`,
)}</ul>
`
  }<p>${own.length === 0 ? 'The tool has no specific errors.' : null} Errors that every tool can return: ${common.map((code, index) => html`${index === 0 ? null : ', '}${link(code)}`)}.</p>
`;
};

interface Codes {
  /** Errors that the tool's definition names. */
  own: readonly ErrorCode[];
  /** Errors that every tool can return. */
  common: readonly ErrorCode[];
}

function markdownOf(
  tool: ToolDefinition,
  baseUrl: string,
  { own, common }: Codes,
  questions: string | null,
): string {
  const { title, name, description, input, output, examples } = tool;
  const [example] = examples;
  const curl =
    example && callSnippets({ tool, input: example.input, baseUrl }).find((it) => it.title === 'curl')?.text;
  return `# ${title}

\`POST ${baseUrl}/api/v1/tools/${name}\`

${description}

## Example

\`\`\`sh
${curl ?? ''}
\`\`\`

\`\`\`json
${outputOf(example?.output ?? {})}
\`\`\`

## Limits

| Limit | Value |
| --- | --- |
${limitRows(tool)
  .map((row) => `| ${row.join(' | ')} |`)
  .join('\n')}

## Request

${fieldLines(fieldsOf(input), true)}

## Response

${fieldLines(fieldsOf(output), false)}

## Errors

${own.length === 0 ? 'The tool has no specific errors.' : errorList(own)}

[Errors](/docs/errors.md) that every tool can return: ${common.map((code) => `\`${code}\``).join(', ')}.
${questions === null ? '' : `\n## Questions\n\n${questions}`}`;
}

const HEADINGS = ['Example', 'Behaviour', 'Limits', 'Request', 'Response', 'Errors'];

/** The page of a tool, which derives from its definition. @param baseUrl URL of the API in examples @param packs packs on sale */
export function toolPage(tool: ToolDefinition, baseUrl: string, packs: readonly Pack[] = []): Page {
  const money = moneyOf(tool.price, packs);
  const { name, title, price, description, input, output } = tool;
  const own = [...new Set(tool.errors)];
  const common = codesOfTool(tool).filter((code) => !own.includes(code));
  const questions = questionsOf(tool);
  const heading = (
    text: string,
  ) => html`<h2 id="${text.toLowerCase()}"><a href="#${text.toLowerCase()}">${text}</a></h2>
`;
  return {
    path: `/docs/tools/${name}`,
    title,
    summary: summaryOf(tool),
    markdown: markdownOf(tool, baseUrl, { own, common }, questions),
    headings: [...HEADINGS, ...(questions === null ? [] : ['Questions'])].map((text) => ({
      id: text.toLowerCase(),
      text,
    })),
    body: html`<p class="call"><code>POST /api/v1/tools/${name}</code> <span class="tag price">${creditsOf(price)}</span>${money === null ? null : html` <span class="money">${money}</span>`} <a class="button" href="/dashboard/tools/${name}">Run this tool in the dashboard</a></p>
<p class="lead">${summaryOf(tool)}</p>
${pictureFigure(tool)}${heading('Example')}${exampleMarkup(tool, baseUrl)}${runMarkup(tool)}${heading('Behaviour')}${paragraphs(
  description,
).map(
  (text) => html`<p>${renderInline(text)}</p>
`,
)}${heading('Limits')}<table class="facts"><tbody>
${limitRows(tool).map(
  ([label, value]) => html`<tr><th scope="row">${label}</th><td>${renderInline(value)}</td></tr>
`,
)}</tbody></table>
${heading('Request')}<p>One JSON object. Unknown fields are rejected.</p>
${fieldList(fieldsOf(input), 'request', true)}${heading('Response')}<p>Every field is present; a field without a value is <code>null</code>.</p>
${fieldList(fieldsOf(output), 'response', false)}${heading('Errors')}${errorMarkup(own, common)}${
  questions === null ? null : html`${heading('Questions')}${renderMarkdown(questions, () => null).body}`
}`,
  };
}
