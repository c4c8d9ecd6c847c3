import { existsSync, readFileSync } from 'node:fs';
import { creditsOf } from '../../schemas/callErrors.ts';
import type { ErrorCode } from '../../schemas/errors.ts';
import { suggestedName } from '../../schemas/formats/fileType.ts';
import type { Pack } from '../../schemas/formats/packs.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import { secretFields, type ToolDefinition } from '../../schemas/tool.ts';
import { summaryOf } from '../../schemas/toolGroups.ts';
import { moneyOf } from '../billing/prices.ts';
import { DEFAULT_BODY_BYTES } from '../calls/toolRoutes.ts';
import { callSnippets, fileSnippet } from '../dashboard/components/snippets.ts';
import { paragraphs } from '../dashboard/components/text.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { codesOfTool } from '../openapi/codes.ts';
import { codeExamples } from './codeExamples.ts';
import { errorMarkdown, errorMarkup } from './errorSection.ts';
import { fieldLines, fieldList, fieldsOf } from './fields.ts';
import { codeBlock } from './highlight.ts';
import { renderInline, renderMarkdown } from './markdown.ts';
import type { Page } from './page.ts';
import { pictureFigure } from './pictures.ts';
import { runForm } from './runForm.ts';

/** Longer strings in examples, such as base64 files, are truncated. */
const SHOWN_CHARACTERS = 100;

const shorten = (_key: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > SHOWN_CHARACTERS ? `${value.slice(0, 48)}…` : value;

/** An example's output as JSON; long strings are truncated. */
export const outputOf = (output: Record<string, unknown>): string => JSON.stringify(output, shorten, 2);

const MEGABYTE = 1_048_576;

/** Rows of the table of limits: name and Markdown. */
function limitRows(tool: ToolDefinition): [string, string][] {
  const { price, pool, limits, actsOnWorld, raw } = tool;
  const secrets = secretFields(tool);
  return [
    ['Price', `${creditsOf(price)} for a result, 0 for an error`],
    ['Request body', `${(limits.bodyBytes ?? DEFAULT_BODY_BYTES) / MEGABYTE} MB`],
    ['Time limit', `${limits.workMs / 1000} s`],
    ['Concurrent calls', `At most 64 of an account, to all tools of the pool \`${pool}\` together`],
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

/** The first example as a call with curl that saves the file; null for a tool without a file. */
function savingOf(tool: ToolDefinition, baseUrl: string): string | null {
  const [mimeType] = mimeTypes(tool);
  const [example] = tool.examples;
  if (mimeType === undefined || example === undefined) return null;
  const name = suggestedName(tool.name, mimeType);
  return fileSnippet({ tool, input: example.input, baseUrl }, { name, mimeType });
}

const exampleMarkup = (tool: ToolDefinition, baseUrl: string): Html =>
  html`${tool.examples.map(
    ({ input, output }, index) => html`<div class="example">
${codeExamples(callSnippets({ tool, input, baseUrl }), `request-${index}`)}${codeBlock(outputOf(output), 'json', 'Response')}</div>
`,
  )}${savingMarkup(savingOf(tool, baseUrl))}`;

const savingMarkdown = (saving: string | null): string =>
  saving === null
    ? ''
    : `
With an \`Accept\` header of its type, the response is the file itself:

\`\`\`sh
${saving}
\`\`\`
`;

const savingMarkup = (saving: string | null): Html | null =>
  saving === null
    ? null
    : html`<p>With an <code>Accept</code> header of its type, the response is the file itself:</p>
<div class="example">${codeBlock(saving, 'sh', 'curl, to a file')}</div>
`;

/** A form that runs the tool's example with the visitor's key. */
const runMarkup = ({ name, price, examples }: ToolDefinition): Html =>
  runForm({
    method: 'POST',
    path: `/api/v1/tools/${name}`,
    input: JSON.stringify(examples[0]?.input ?? {}, null, 2),
    scope: 'tools',
    button: `Run (${creditsOf(price)})`,
  });

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
${savingMarkdown(savingOf(tool, baseUrl))}
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

${errorMarkdown({ kind: 'tool', own, common })}
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
    body: html`<p class="call"><code>POST /api/v1/tools/${name}</code> <span class="tag price">${creditsOf(price)}</span>${money === null ? null : html` <span class="money">${money}</span>`} <a class="button" href="/dashboard/tools/${name}">Run it in the dashboard</a></p>
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
${fieldList(fieldsOf(output), 'response', false)}${heading('Errors')}${errorMarkup({ kind: 'tool', own, common })}${
  questions === null ? null : html`${heading('Questions')}${renderMarkdown(questions, () => null).body}`
}`,
  };
}
