import { MAX_BATCH_BYTES, MAX_ROWS } from '../../../../schemas/batches.ts';
import type { Pack } from '../../../../schemas/formats/packs.ts';
import type { ToolDefinition } from '../../../../schemas/tool.ts';
import { summaryOf } from '../../../../schemas/toolGroups.ts';
import { moneyOf } from '../../../billing/prices.ts';
import type { Failure } from '../../components/alert.ts';
import { selectField } from '../../components/field.ts';
import { postForm, referenceField } from '../../components/form.ts';
import { icon } from '../../components/icons.ts';
import { suspension } from '../../components/suspension.ts';
import { table } from '../../components/table.ts';
import { count, number, prose } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { uploadFailure } from './faults.ts';
import { BATCHES_PATH, NEW_BATCH_PATH, templatePath, UPLOAD_PATH } from './paths.ts';
import { columnsOf, type TemplateColumn } from './template.ts';

const MEGABYTE = 1_048_576;

interface NewBatchPage {
  viewer: Viewer;
  /** Tools that can run in batches. */
  tools: readonly ToolDefinition[];
  /** The selected tool; null before one is selected. */
  tool: ToolDefinition | null;
  available: number;
  /** Packs on sale, from which prices in money derive. */
  packs: readonly Pack[];
  /** Idempotency reference, generated for each page: sending the form twice creates one batch. */
  reference: string;
  failure?: Failure;
}

const toolForm = ({ tools, tool }: NewBatchPage): Html =>
  html`<form class="filter" method="get" action="${NEW_BATCH_PATH}">
${selectField({
  name: 'tool',
  label: 'Tool',
  value: tool?.name ?? '',
  options: [
    ...(tool === null ? [{ value: '', label: 'Select a tool' }] : []),
    ...tools.map(({ name, title, price }) => ({
      value: name,
      label: `${title} (${count(price, 'credit')})`,
    })),
  ],
  failure: null,
})}
<button class="plain">Select</button>
</form>`;

/** Says how many rows the credits pay for. */
function priceOf({ available, packs }: NewBatchPage, { price }: ToolDefinition): Html {
  const money = moneyOf(price, packs);
  const rows = Math.floor(available / price);
  return html`<p class="price"><strong>${count(price, 'credit')}</strong> per row${money === null ? null : html` (${money})`}; ${count(available, 'credit')} available, enough for ${rows >= MAX_ROWS ? `${number(MAX_ROWS)} rows, the most of a batch` : count(rows, 'row')}. The price of your file is shown before anything runs.</p>`;
}

const columnTable = (tool: ToolDefinition): Html =>
  table<TemplateColumn>(
    'Columns',
    [
      { title: 'Column', cell: ({ name }) => html`<code>${name}</code>` },
      {
        title: 'Required',
        cell: ({ isRequired }) => (isRequired ? 'yes' : html`<span class="quiet">no</span>`),
      },
      { title: 'Description', cell: ({ description }) => prose(description) },
    ],
    columnsOf(tool),
    { isNamed: true },
  );

const upload = ({ viewer, reference }: NewBatchPage, tool: ToolDefinition): Html =>
  postForm({
    action: UPLOAD_PATH,
    viewer,
    hasFile: true,
    content: html`<input type="hidden" name="tool" value="${tool.name}">
${referenceField(reference)}
<div class="field drop" data-drop="${MAX_BATCH_BYTES}">
<label for="file">CSV file</label>
<input id="file" name="file" type="file" accept=".csv,text/csv" required aria-describedby="file-hint">
<small id="file-hint">Drop a file here, or choose one: at most ${number(MAX_ROWS)} rows and ${MAX_BATCH_BYTES / MEGABYTE}&nbsp;MB, in UTF-8.</small>
</div>
<button data-busy="Uploading and checking…">${icon('upload')}<span>Check the file</span></button>
<p class="quiet">All rows are checked first. Then you see the price, and start the batch.</p>`,
  });

const toolView = (
  page: NewBatchPage,
  tool: ToolDefinition,
): Html => html`<p>${prose(summaryOf(tool))} <a href="/docs/tools/${tool.name}">About this tool</a></p>
${priceOf(page, tool)}
<div class="split">
<section class="box" aria-labelledby="template">
<h2 id="template">1. Fill in the template</h2>
<p>The template has a column for each field of the tool, and an example as its only row. Replace it by your rows; columns that you do not need can be removed.</p>
<p><a class="button" href="${templatePath(tool.name)}" download>${icon('download')}Template for ${tool.title}</a></p>
<p>An empty cell leaves out its field, which then has its default. Numbers, <code>true</code>, <code>false</code>, lists and objects are written as in JSON.</p>
<details><summary>Columns</summary>
${columnTable(tool)}
</details>
</section>
<section class="box" aria-labelledby="upload">
<h2 id="upload">2. Upload your file</h2>
${upload(page, tool)}
</section>
</div>`;

/** The page on which an owner selects a tool and uploads the rows of a batch. */
export const newBatchPage = (page: NewBatchPage): string =>
  layout({
    title: 'New batch',
    menu: { viewer: page.viewer, section: 'Batches' },
    parent: { path: BATCHES_PATH, name: 'Batches' },
    main: html`${suspension(page.viewer.account) ?? (page.failure === undefined ? null : uploadFailure(page.failure, MAX_BATCH_BYTES / MEGABYTE))}
<p class="lead">Run a tool for each row of a CSV file. <a href="/docs/batches">About batches</a></p>
${toolForm(page)}
${page.tool === null ? html`<p class="quiet">Tools that take passwords cannot run in batches, because the rows are stored until they run.</p>` : toolView(page, page.tool)}`,
  });
