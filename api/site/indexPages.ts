import { creditsOf } from '../../schemas/callErrors.ts';
import type { Pack } from '../../schemas/formats/packs.ts';
import type { Registry } from '../../schemas/registry.ts';
import { groupTools, summaryOf } from '../../schemas/toolGroups.ts';
import { moneyOf } from '../billing/prices.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { anchorOf } from './markdown.ts';
import type { Page, Section } from './page.ts';
import { REFERENCE_PATH } from './reference/paths.ts';

const card = (path: string, title: string, text: string, tag: string | null): Html =>
  html`<li><a href="${path}"><strong>${title}</strong>${tag === null ? null : html` <span class="tag">${tag}</span>`}</a>
<p>${text}</p></li>
`;

/** Lists of links in Markdown, by section. */
const listOf = (sections: readonly Section[], baseUrl: string): string =>
  sections
    .map(
      ({ title, pages }) =>
        `## ${title}\n\n${pages.map((page) => `- [${page.title}](${baseUrl}${page.path}.md): ${page.summary}`).join('\n')}`,
    )
    .join('\n\n');

const headingsOf = (titles: readonly string[]) => titles.map((text) => ({ id: anchorOf(text), text }));

const INTRODUCTION =
  'A prepaid HTTP API of single-purpose tools. You POST a JSON object to a tool and get a JSON object back. Each tool has a fixed price in credits, and you pay only for results.';

const sectionCards = (sections: readonly Section[]): Html =>
  html`${sections.map(
    ({ title, pages }) => html`<h2 id="${anchorOf(title)}"><a href="#${anchorOf(title)}">${title}</a></h2>
<ul class="cards">
${pages.map((page) => card(page.path, page.title, page.summary, null))}</ul>
`,
  )}`;

/** The first page of the documentation for those who call the API. */
export const overviewPage = (sections: readonly Section[]): Page => ({
  path: '/docs',
  title: 'Documentation',
  summary: INTRODUCTION,
  markdown: `# Documentation\n\n${INTRODUCTION}\n\n${listOf(sections, '')}\n`,
  headings: headingsOf(sections.map(({ title }) => title)),
  body: html`<p class="lead">${INTRODUCTION}</p>
${sectionCards(sections)}<p class="note">The <a href="${REFERENCE_PATH}">API reference</a> has all operations with their fields. Do you run the service
yourself? Then go to the <a href="/docs/self-hosting">documentation for operators</a>.</p>`,
});

const FOR_OPERATORS =
  'How to install, configure, monitor and back up the service. Callers of the API need none of this.';

/** The first page of the documentation for operators. */
export const operatorsPage = (sections: readonly Section[]): Page => ({
  path: '/docs/self-hosting',
  title: 'For operators',
  summary: FOR_OPERATORS,
  markdown: `# For operators\n\n${FOR_OPERATORS}\n\n${listOf(sections, '')}\n`,
  headings: [],
  body: html`<p class="lead">${FOR_OPERATORS}</p>
${sectionCards(sections)}<p class="note">What callers read is in the <a href="/docs">documentation</a>, what the parts of the service guarantee in the
<a href="/docs/contract">contract</a>, and how it protects itself on the page <a href="/docs/security">Security</a>.</p>`,
});

/** The list of all tools with their prices. */
export function toolsPage(registry: Registry, packs: readonly Pack[]): Page {
  const costOf = ({ price }: { price: number }) => {
    const money = moneyOf(price, packs);
    return money === null ? creditsOf(price) : `${creditsOf(price)}, ${money}`;
  };
  const groups = groupTools([...registry.values()]);
  const summary = `All ${registry.size} tools with their prices.`;
  const line = (name: string, title: string, price: number, text: string) =>
    `- [${title}](/docs/tools/${name}.md) (\`${name}\`, ${creditsOf(price)}): ${text}`;
  return {
    path: '/docs/tools',
    title: 'All tools',
    summary,
    markdown: `# All tools\n\n${summary}\n\n${groups
      .map(
        ({ title, tools }) =>
          `## ${title}\n\n${tools.map((tool) => line(tool.name, tool.title, tool.price, summaryOf(tool))).join('\n')}`,
      )
      .join('\n\n')}\n`,
    headings: headingsOf(groups.map(({ title }) => title)),
    body: html`<p class="lead">Each tool is one request: <code>POST /api/v1/tools/&lt;name&gt;</code>.</p>
${groups.map(
  ({ title, tools }) => html`<h2 id="${anchorOf(title)}"><a href="#${anchorOf(title)}">${title}</a></h2>
<ul class="cards">
${tools.map((tool) => card(`/docs/tools/${tool.name}`, tool.title, summaryOf(tool), costOf(tool)))}</ul>
`,
)}`,
  };
}

/** https://llmstxt.org */
export const llmsText = (sections: readonly Section[], baseUrl: string): string =>
  `# Utility Tools API

> ${INTRODUCTION}

Send \`Authorization: Bearer <API key>\`. Agents can call the tools through MCP at ${baseUrl}/mcp. The OpenAPI document is at
${baseUrl}/openapi.json.

${listOf(sections, baseUrl)}
`;
