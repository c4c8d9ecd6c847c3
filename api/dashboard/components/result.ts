import { isRecord } from '../../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../../schemas/tool.ts';
import { type Html, html } from '../html.ts';
import { table } from './table.ts';

const PICTURES = ['image/png', 'image/jpeg', 'image/webp'];
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const LONG_TEXT = 120;

/** A value in a table cell. */
function short(value: unknown): Html {
  if (value === null || value === undefined) return html`<span class="quiet">–</span>`;
  if (typeof value === 'object') return html`<code>${JSON.stringify(value)}</code>`;
  return html`${String(value)}`;
}

function rows(name: string, items: readonly Record<string, unknown>[]): Html {
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))];
  return table<Record<string, unknown>>(
    name,
    names.map((title) => ({ title, cell: (item: Record<string, unknown>) => short(item[title]) })),
    items,
    { isNamed: true },
  );
}

function valueView(name: string, value: unknown): Html {
  if (Array.isArray(value)) {
    if (value.length === 0) return html`<span class="quiet">none</span>`;
    if (value.every(isRecord)) return rows(name, value);
    return html`<ul>${value.map((item) => html`<li>${short(item)}</li>`)}</ul>`;
  }
  if (isRecord(value)) {
    const pairs = Object.entries(value).map(([key, inner]) => ({ name: key, value: inner }));
    return pairs.length === 0 ? html`<span class="quiet">none</span>` : rows(name, pairs);
  }
  if (typeof value === 'string' && (value.length > LONG_TEXT || value.includes('\n')))
    return html`<pre tabindex="0" role="region" aria-label="${name}">${value}</pre>`;
  return short(value);
}

/** A file as an image, or as a download link. */
function fileView(tool: ToolDefinition, output: Record<string, unknown>): Html | null {
  if (tool.raw === undefined) return null;
  const [data, type] = [output[tool.raw.data], output[tool.raw.mimeType]];
  if (typeof data !== 'string' || typeof type !== 'string' || !BASE64.test(data)) return null;
  const named = tool.raw.fileName === undefined ? undefined : output[tool.raw.fileName];
  const fileName = typeof named === 'string' ? named : tool.name;
  const isPicture = PICTURES.includes(type);
  if (!isPicture && type !== 'application/pdf') return null;
  const address = `data:${type};base64,${data}`;
  const picture = isPicture
    ? html`<img class="picture" src="${address}" alt="The result of ${tool.title}">
`
    : null;
  return html`${picture}<p><a href="${address}" download="${fileName}">Save ${fileName}</a></p>`;
}

/** The output of a tool: its image or file, then the other fields. */
export function resultView(tool: ToolDefinition, output: Record<string, unknown>): Html {
  const file = fileView(tool, output);
  const fields = Object.entries(output).filter(([name]) => file === null || name !== tool.raw?.data);
  return html`${file}
<dl class="result">
${fields.map(
  ([name, value]) => html`<div><dt>${name}</dt> <dd>${valueView(name, value)}</dd></div>
`,
)}</dl>
<details><summary>As JSON</summary>
<pre tabindex="0" role="region" aria-label="JSON">${JSON.stringify(Object.fromEntries(fields), null, 2)}</pre>
</details>`;
}
