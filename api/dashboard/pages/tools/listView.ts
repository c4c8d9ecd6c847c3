import type { Pack } from '../../../../schemas/formats/packs.ts';
import type { ToolDefinition } from '../../../../schemas/tool.ts';
import { groupTools, summaryOf, type ToolGroup } from '../../../../schemas/toolGroups.ts';
import { moneyOf } from '../../../billing/prices.ts';
import { empty } from '../../components/alert.ts';
import { icon } from '../../components/icons.ts';
import { suspension } from '../../components/suspension.ts';
import { count, prose } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { toolIcon } from './icons.ts';
import { TOOLS_PATH, toolPath } from './toolView.ts';

interface ToolsPage {
  viewer: Viewer;
  tools: readonly ToolDefinition[];
  /** Packs on sale, from which the prices in money derive. */
  packs: readonly Pack[];
  /** Words to search for; '' shows all tools. */
  search: string;
}

/** The words of a tool that are searched, in lower case. */
const wordsOf = (tool: ToolDefinition): string =>
  `${tool.name} ${tool.title} ${summaryOf(tool)}`.toLowerCase();

const matches = (tool: ToolDefinition, search: string): boolean =>
  search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => wordsOf(tool).includes(word));

function toolItem(tool: ToolDefinition, packs: readonly Pack[]): Html {
  const money = moneyOf(tool.price, packs);
  return html`<li data-words="${wordsOf(tool)}"><a href="${toolPath(tool.name)}">
${icon(toolIcon(tool.name))}<strong>${tool.title}</strong> <span class="quiet">${prose(summaryOf(tool))}</span> <span class="cost">${count(tool.price, 'credit')}${money === null ? null : html` · ${money}`}</span>
</a></li>
`;
}

const groupSection = ({ title, tools }: ToolGroup, index: number, packs: readonly Pack[]): Html =>
  html`<section class="group" aria-labelledby="group-${index}">
<h2 id="group-${index}">${title}</h2>
<ul class="tools">
${tools.map((tool) => toolItem(tool, packs))}</ul>
</section>
`;

/** All tools with prices, in groups, with a search. */
export function toolsPage({ viewer, tools, packs, search }: ToolsPage): string {
  const found = tools.filter((tool) => matches(tool, search.trim()));
  return layout({
    title: 'Tools',
    menu: { viewer, section: 'Tools' },
    main: html`${suspension(viewer.account)}
<p class="lead">Try a tool here or call it from a program, at the same price. Only calls that return a result are charged.</p>
<form class="filter" method="get" action="${TOOLS_PATH}" role="search">
<div class="field"><label for="q">Search tools</label>
<input id="q" name="q" type="search" value="${search}" autocomplete="off" data-filter=".tools li"></div>
<button class="plain">Search</button>
</form>
${
  found.length === 0
    ? empty(html`<p>No tool matches. <a href="${TOOLS_PATH}">Show all tools</a>.</p>`)
    : groupTools(found).map((group, index) => groupSection(group, index, packs))
}`,
  });
}
