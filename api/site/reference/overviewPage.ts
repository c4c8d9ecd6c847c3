import type { Registry } from '../../../schemas/registry.ts';
import { type Html, html } from '../../dashboard/frame/html.ts';
import { anchorOf, renderInline, renderMarkdown } from '../markdown.ts';
import type { Page } from '../page.ts';
import type { Operation, OperationGroup } from './document.ts';
import { EVENTS_PATH } from './eventsPage.ts';
import { operationPagePath } from './operationPage.ts';
import { REFERENCE_PATH } from './paths.ts';

const SUMMARY = 'All operations of the API with their fields, errors and examples in five languages.';

const introduction = (
  baseUrl: string,
): string => `The address of the API is \`${baseUrl}\`. Requests and responses are JSON, except where a page says otherwise.

- **Keys:** send \`Authorization: Bearer <key>\`. [Authentication](/docs/authentication) explains the scopes.
- **Errors:** every error has a stable \`code\`; [Errors](/docs/errors) lists them with what to do.
- **Repeating:** [Errors and retries](/docs/retries) and [Idempotency](/docs/idempotency) say what is safe.
- **Programs:** this reference is also an [OpenAPI document](/openapi.json), from which generators make clients. There are
  [clients](/docs/clients) for TypeScript, Python and Go.`;

/** Returns the path of the page of an operation. That of a tool call is the page of the tool. */
function pagePath(operation: Operation, registry: Registry): string {
  const name = operation.path.replace('/api/v1/tools/', '');
  return registry.has(name) ? `/docs/tools/${name}` : operationPagePath(operation);
}

/** An entry, whose id is that of the operation in earlier versions of the reference. */
const entry = (operation: Operation, href: string): Html => {
  const { tag, id, method, path, summary } = operation;
  return html`<li${tag.includes(' ') ? null : html` id="/${tag}/${id}"`}><a href="${href}"><code class="method">${method}</code> <code>${path}</code></a> <span>${summary}</span></li>
`;
};

const line = ({ method, path, summary }: Operation, href: string): string =>
  `- [\`${method} ${path}\`](${href}.md): ${summary}`;

const EVENTS_TEXT = `The requests that your endpoints receive are on a page of their own: [Webhook events](${EVENTS_PATH}).`;

/** The first page of the reference: all operations by tag. */
export function referencePage(groups: readonly OperationGroup[], registry: Registry, baseUrl: string): Page {
  const intro = introduction(baseUrl);
  return {
    path: REFERENCE_PATH,
    title: 'API reference',
    summary: SUMMARY,
    markdown: `# API reference

${SUMMARY}

${intro}

${groups
  .map(
    ({ tag, description, operations }) =>
      `## ${tag}\n\n${description}\n\n${operations.map((it) => line(it, pagePath(it, registry))).join('\n')}`,
  )
  .join('\n\n')}

## Webhooks

${EVENTS_TEXT}
`,
    headings: [...groups.map(({ tag }) => tag), 'Webhooks'].map((text) => ({ id: anchorOf(text), text })),
    body: html`<p class="lead">${SUMMARY}</p>
${renderMarkdown(intro, () => null).body}${groups.map(
  ({
    tag,
    description,
    operations,
  }) => html`<h2 id="${anchorOf(tag)}"><a href="#${anchorOf(tag)}">${tag}</a></h2>
<p>${description}</p>
<ul class="operations">
${operations.map((operation) => entry(operation, pagePath(operation, registry)))}</ul>
`,
)}<h2 id="webhooks"><a href="#webhooks">Webhooks</a></h2>
<p>${renderInline(EVENTS_TEXT)}</p>`,
  };
}
