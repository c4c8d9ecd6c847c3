import type { ToolDefinition } from '../../../schemas/tool.ts';
import { suspension } from '../components/suspension.ts';
import { table } from '../components/table.ts';
import { count, prose } from '../components/text.ts';
import { html } from '../html.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

interface ToolsPage {
  viewer: Viewer;
  tools: readonly ToolDefinition[];
}

/** The first sentence of a description. */
const brief = ({ description }: ToolDefinition): string =>
  (description.split(/(?<=[.:])\s/)[0] ?? description).replace(/:$/, '.');

/** All tools with prices. */
export const toolsPage = ({ viewer, tools }: ToolsPage): string =>
  layout({
    title: 'Tools',
    menu: { viewer, section: 'Tools' },
    main: html`${suspension(viewer.account)}
<p>Each tool has a form to try it here. A call from the form costs the same as from a program, and only if it returns a
result.</p>
${table<ToolDefinition>(
  'Tools and prices',
  [
    { title: 'Tool', cell: ({ name, title }) => html`<a href="/dashboard/tools/${name}">${title}</a>` },
    { title: 'Description', cell: (tool) => prose(brief(tool)) },
    { title: 'Price', numeric: true, cell: ({ price }) => count(price, 'credit') },
  ],
  tools,
)}`,
  });
