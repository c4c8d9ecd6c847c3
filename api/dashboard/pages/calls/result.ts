import { isRecord } from '../../../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../../../schemas/tool.ts';
import { icon } from '../../components/icons.ts';
import { table } from '../../components/table.ts';
import { code } from '../../components/tabs.ts';
import { number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';

const PICTURES = ['image/png', 'image/jpeg', 'image/webp'];
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const LONG_TEXT = 120;
/** Number of characters after which a text is cut on the page. The saved file contains the whole text. */
const SHOWN_TEXT = 20_000;
/** Number of rows and list items that the page shows. The saved file contains all of them. */
const SHOWN_ROWS = 200;

const none = html`<span class="quiet">none</span>`;

const cut = (text: string): string => (text.length > SHOWN_TEXT ? `${text.slice(0, SHOWN_TEXT)}…` : text);

/** A scalar value. */
function plain(value: unknown): Html {
  if (value === null || value === undefined) return html`<span class="quiet">–</span>`;
  if (typeof value === 'boolean') return html`${value ? 'yes' : 'no'}`;
  if (typeof value === 'number') return html`${String(value)}`;
  const text = String(value);
  return text === '' ? html`<span class="quiet">empty</span>` : typed(cut(text));
}

/** A value in a table cell: nested values as lists of names and values. */
function tree(value: unknown): Html {
  if (Array.isArray(value))
    return value.length === 0
      ? none
      : html`<ul class="tree">${value.slice(0, SHOWN_ROWS).map((item) => html`<li>${tree(item)}</li>`)}</ul>`;
  if (!isRecord(value)) return plain(value);
  const pairs = Object.entries(value);
  if (pairs.length === 0) return none;
  return html`<ul class="tree">${pairs.map(([key, inner]) => html`<li><span class="quiet">${key}:</span> ${tree(inner)}</li>`)}</ul>`;
}

function rows(name: string, items: readonly Record<string, unknown>[]): Html {
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))];
  const shown = html`<div class="scroll" tabindex="0" role="group" aria-label="${name}">${table<
    Record<string, unknown>
  >(
    name,
    names.map((title) => ({ title, cell: (item: Record<string, unknown>) => tree(item[title]) })),
    items.slice(0, SHOWN_ROWS),
    { isNamed: true },
  )}</div>
`;
  return items.length <= SHOWN_ROWS
    ? shown
    : html`${shown}<p class="quiet">The first ${SHOWN_ROWS} of ${number(items.length)}. The saved file contains all of them.</p>`;
}

function valueView(name: string, value: unknown): Html {
  if (Array.isArray(value) && value.length > 0 && value.every(isRecord)) return rows(name, value);
  if (isRecord(value) && Object.keys(value).length > 0)
    return rows(
      name,
      Object.entries(value).map(([key, inner]) => ({ name: key, value: inner })),
    );
  if (typeof value === 'string' && (value.length > LONG_TEXT || value.includes('\n')))
    return html`<pre tabindex="0" role="region" aria-label="${name}">${cut(value)}</pre>`;
  return tree(value);
}

/** Id of the link to the file of a result, whose content the preview of a PDF draws. */
const FILE_LINK = 'result-file';

const saveLink = (address: string, fileName: string, id = ''): Html =>
  html`<a class="button"${id === '' ? null : html` id="${id}"`} href="${address}" download="${fileName}">${icon('download')}Save ${fileName}</a>`;

/** The place of the first page, which `pdf.js` draws; hidden without JavaScript. */
const pdfPreview = html`<figure class="preview" data-pdf="${FILE_LINK}" hidden><canvas class="picture" role="img" aria-label="The PDF"></canvas>
<figcaption></figcaption></figure>
`;

/** The file of a result: its image or a preview, if there is one, and a link that saves it. */
function fileView(tool: ToolDefinition, output: Record<string, unknown>) {
  if (tool.raw === undefined) return null;
  const [data, type] = [output[tool.raw.data], output[tool.raw.mimeType]];
  if (typeof data !== 'string' || typeof type !== 'string' || !BASE64.test(data)) return null;
  const named = tool.raw.fileName === undefined ? undefined : output[tool.raw.fileName];
  const fileName = typeof named === 'string' ? named : `${tool.name}.${type.split('/')[1] ?? ''}`;
  const isPicture = PICTURES.includes(type);
  if (!isPicture && type !== 'application/pdf') return null;
  const address = `data:${type};base64,${data}`;
  const picture = isPicture
    ? html`<img class="picture" src="${address}" alt="The result of ${tool.title}">
`
    : pdfPreview;
  return { picture, link: saveLink(address, fileName, FILE_LINK) };
}

/** The output of a tool: its image or PDF, links that save it, then the other fields. */
export function resultView(tool: ToolDefinition, output: Record<string, unknown>): Html {
  const file = fileView(tool, output);
  const fields = Object.entries(output).filter(([name]) => file === null || name !== tool.raw?.data);
  // Beside a file, fields without a value are those that were not asked for.
  const shown = fields.filter(([, value]) => file === null || value !== null);
  const json = JSON.stringify(Object.fromEntries(fields), null, 2);
  const address = `data:application/json;base64,${Buffer.from(json).toString('base64')}`;
  return html`${file?.picture ?? null}
<div class="actions">${file?.link ?? null}${saveLink(address, `${tool.name}.json`)}</div>
<dl class="result">
${shown.map(
  ([name, value]) => html`<div><dt>${name}</dt> <dd>${valueView(name, value)}</dd></div>
`,
)}</dl>
<details><summary>View as JSON</summary>
${code('JSON', cut(json))}
</details>`;
}
