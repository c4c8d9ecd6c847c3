import type { ToolDefinition } from '../../../schemas/tool.ts';
import { html } from '../../html.ts';
import { suspension } from '../components/suspension.ts';
import { table } from '../components/table.ts';
import { count, prose } from '../components/text.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

interface ToolsPage {
  viewer: Viewer;
  tools: readonly ToolDefinition[];
}

/** The first sentence of a description is enough to choose by. */
const brief = ({ description }: ToolDefinition): string =>
  (description.split(/(?<=[.:])\s/)[0] ?? description).replace(/:$/, '.');

/** Every tool with its price. */
export const toolsPage = ({ viewer, tools }: ToolsPage): string =>
  layout({
    title: 'Tools',
    menu: { viewer, section: 'Tools' },
    main: html`${suspension(viewer.account)}
<p>Each has a form to try it here. A try is charged like any call: only when there is a result.</p>
${table<ToolDefinition>(
  'Tools and prices',
  [
    { title: 'Tool', cell: ({ name, title }) => html`<a href="/dashboard/tools/${name}">${title}</a>` },
    { title: 'Does', cell: (tool) => prose(brief(tool)) },
    { title: 'Price', numeric: true, cell: ({ price }) => count(price, 'credit') },
  ],
  tools,
)}`,
  });
