import type { ErrorCode } from '../../../schemas/errors.ts';
import { requestSnippets, type Snippet } from '../../dashboard/components/snippets.ts';
import { paragraphs } from '../../dashboard/components/text.ts';
import { type Html, html } from '../../dashboard/frame/html.ts';
import { KEYED } from '../../openapi/codes.ts';
import { codeExamples } from '../codeExamples.ts';
import { errorMarkdown, errorMarkup } from '../errorSection.ts';
import { fieldLines, fieldList, fieldsOf } from '../fields.ts';
import { codeBlock } from '../highlight.ts';
import { renderInline } from '../markdown.ts';
import type { Page } from '../page.ts';
import { runForm } from '../runForm.ts';
import type { Operation, Parameter } from './document.ts';
import { REFERENCE_PATH } from './paths.ts';

/** Name of the file in examples. */
const UPLOADED = 'menu.pdf';

/** `listCalls` -> `list-calls` */
const kebab = (id: string): string => id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

export const operationPagePath = ({ id }: Pick<Operation, 'id'>): string => `${REFERENCE_PATH}/${kebab(id)}`;

const ACCESS = {
  tools: 'Needs an [API key](/docs/authentication#choose-a-scope) of scope `tools`.',
  account: 'Needs an [API key](/docs/authentication#choose-a-scope) of scope `account`.',
  none: 'No key is needed.',
} as const;

/** Parameters as the properties of an object. */
const schemaOf = (parameters: readonly Parameter[]) => ({
  properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
  required: parameters.filter(({ isRequired }) => isRequired).map(({ name }) => name),
});

const json = (value: unknown): string => JSON.stringify(value, null, 2);

function snippetsOf(
  { method, path, parameters, request, isUpload, response, scope }: Operation,
  baseUrl: string,
): Snippet[] {
  const url = path.replaceAll(
    /\{(\w+)\}/g,
    (all, name: string) => parameters.find((parameter) => parameter.name === name)?.example ?? all,
  );
  return requestSnippets({
    method,
    url: `${baseUrl}${url}`,
    ...(request === null ? {} : { input: request.example ?? {} }),
    ...(isUpload && { source: UPLOADED }),
    scope,
    isEmpty: response.schema === null,
  });
}

/** A section of the page; its fields are missing in an operation that has none of the kind. */
interface FieldSection {
  title: string;
  /** Prefix of the anchors of the fields. */
  anchor: string;
  note: string;
  schema: Readonly<Record<string, unknown>>;
  isInput: boolean;
}

function sectionsOf({ parameters, request, response }: Operation): FieldSection[] {
  const placed = (place: Parameter['in']) => parameters.filter((parameter) => parameter.in === place);
  const [path, query] = [placed('path'), placed('query')];
  const others = response.types.filter((type) => type !== 'application/json');
  return [
    ...(path.length === 0
      ? []
      : [{ title: 'Path', anchor: 'path', note: '', schema: schemaOf(path), isInput: true }]),
    ...(query.length === 0
      ? []
      : [{ title: 'Query', anchor: 'query', note: '', schema: schemaOf(query), isInput: true }]),
    ...(request === null
      ? []
      : [
          {
            title: 'Request',
            anchor: 'request',
            note: 'One JSON object. Unknown fields are rejected.',
            schema: request.schema,
            isInput: true,
          },
        ]),
    {
      title: 'Response',
      anchor: 'response',
      note: `Status ${response.status}${response.schema === null ? ', without a body' : ''}.${
        others.length === 0
          ? ''
          : ` With \`Accept: ${others.join(', ')}\` the response is of that type instead of JSON.`
      }`,
      schema: response.schema ?? {},
      isInput: false,
    },
  ];
}

const heading = (title: string): Html => {
  const id = title.toLowerCase();
  return html`<h2 id="${id}"><a href="#${id}">${title}</a></h2>
`;
};

function sectionMarkup({ title, anchor, note, schema, isInput }: FieldSection): Html {
  const fields = fieldsOf(schema);
  return html`${heading(title)}${
    note === ''
      ? null
      : html`<p>${renderInline(note)}</p>
`
  }${fields.length === 0 ? null : fieldList(fields, anchor, isInput)}`;
}

/** Errors that every operation with a key can return; those of an operation without one are among them. */
const COMMON: ReadonlySet<ErrorCode> = new Set([...KEYED, 'internal']);

const errorsOf = ({ errors }: Operation) => ({
  kind: 'operation' as const,
  own: errors.filter((code) => !COMMON.has(code)),
  common: errors.filter((code) => COMMON.has(code)),
});

const markdownOf = (
  operation: Operation,
  snippets: readonly Snippet[],
  sections: readonly FieldSection[],
): string =>
  `# ${operation.summary}

\`${operation.method} ${operation.path}\`

${operation.description}

${ACCESS[operation.scope ?? 'none']}

## Example

\`\`\`sh
${snippets[0]?.text ?? ''}
\`\`\`
${operation.response.example === undefined ? '' : `\n\`\`\`json\n${json(operation.response.example)}\n\`\`\`\n`}
${sections
  .map(({ title, note, schema, isInput }) =>
    [`## ${title}`, note, fieldLines(fieldsOf(schema), isInput)].filter((part) => part !== '').join('\n\n'),
  )
  .join('\n\n')}

## Errors

${errorMarkdown(errorsOf(operation))}
`;

/** The page of an operation of the OpenAPI document. @param baseUrl URL of the API in examples */
export function operationPage(operation: Operation, baseUrl: string): Page {
  const { method, path, summary, description, scope, parameters, request, isUpload, response } = operation;
  const snippets = snippetsOf(operation, baseUrl);
  const sections = sectionsOf(operation);
  const titles = ['Example', ...sections.map(({ title }) => title), 'Errors'];
  return {
    path: operationPagePath(operation),
    title: summary,
    summary: `${method} ${path}: ${summary.charAt(0).toLowerCase()}${summary.slice(1)}.`,
    markdown: markdownOf(operation, snippets, sections),
    headings: titles.map((text) => ({ id: text.toLowerCase(), text })),
    body: html`<p class="call"><code>${method} ${path}</code></p>
${
  description === `${summary}.`
    ? null
    : paragraphs(description).map(
        (text) => html`<p>${renderInline(text)}</p>
`,
      )
}<p>${renderInline(ACCESS[scope ?? 'none'])}</p>
${heading('Example')}<div class="example">
${codeExamples(snippets, 'request')}${
  response.example === undefined ? null : codeBlock(json(response.example), 'json', 'Response')
}</div>
${
  isUpload
    ? null
    : runForm({
        method,
        path,
        fields: parameters,
        input: request === null ? null : json(request.example ?? {}),
        scope,
        button: `Send ${method} request`,
        ...(method !== 'GET' && { note: 'The request changes your account.' }),
      })
}${sections.map(sectionMarkup)}${heading('Errors')}${errorMarkup(errorsOf(operation))}`,
  };
}
