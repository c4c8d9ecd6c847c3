import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { groupTools } from '../../schemas/toolGroups.ts';
import { html } from '../dashboard/frame/html.ts';
import { filesBelow, scriptFile } from '../dashboard/frame/scriptFile.ts';
import { createDocument, type Document } from '../http/document.ts';
import { GUIDES, type Installation, loadGuides } from './guides.ts';
import { llmsText, overviewPage, toolsPage } from './indexPages.ts';
import { landingPage } from './landingPage.ts';
import { docsLayout, plainLayout, SITE_NAME } from './layout.ts';
import { operatorPages } from './operatorPages.ts';
import type { Page, Section } from './page.ts';
import { PRICING_PATH } from './paths.ts';
import { pictureFiles } from './pictures.ts';
import { planOf, pricingMarkdown, pricingPage } from './pricingPage.ts';
import { createSearch } from './search.ts';
import { toolPage } from './toolPage.ts';

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';

export interface Site {
  /** All static responses by path. */
  documents: ReadonlyMap<string, Document>;
  /** Renders the results of a search. */
  search(query: string): Promise<string>;
  /** Renders the prices with the costs of a plan. @param fieldOf returns the value of a field of the calculator */
  pricing(fieldOf: (name: string) => string): string;
  /** Rendered for unknown paths below `/docs`. */
  notFound: Document;
}

/** A page that neither the sidebar nor the sitemap lists. */
const unlisted = (path: string, title: string, body: Page['body']): Page => ({
  path,
  title,
  summary: title,
  markdown: '',
  headings: [],
  body,
});

async function ownFile(type: string, file: string | URL): Promise<Document> {
  return createDocument(type, await readFile(new URL(file, import.meta.url)));
}

/** The files that pages refer to. */
async function assets(): Promise<[string, Document][]> {
  const files = pictureFiles().map(
    async ([path, file]) => [path, await ownFile('image/webp', file)] satisfies [string, Document],
  );
  return [
    ...(await Promise.all(files)),
    ['/docs/assets/site.js', scriptFile(filesBelow(new URL('./scripts/', import.meta.url), '.js'))],
    ['/favicon.svg', await ownFile('image/svg+xml', './favicon.svg')],
    ['/favicon.ico', await ownFile('image/x-icon', './favicon.ico')],
    ['/social-card.png', await ownFile('image/png', './social-card.png')],
  ];
}

const sitemap = (paths: readonly string[], baseUrl: string): string =>
  html`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${paths.map(
  (path) => html`<url><loc>${baseUrl}${path}</loc></url>
`,
)}</urlset>
`.markup;

/** A page about the operator, which is not part of the documentation. */
const operatorPage = ({ path, title, summary, body }: Page, baseUrl: string): string =>
  plainLayout(
    { path, title: `${title} – ${SITE_NAME}`, description: summary, baseUrl, markdown: `${path}.md` },
    html`<h1>${title}</h1>
${body}`,
  );

const robots = (baseUrl: string): string => `User-agent: *
Disallow: /api/
Disallow: /dashboard
Disallow: /docs/search
Sitemap: ${baseUrl}/sitemap.xml
`;

async function sectionsOf(installation: Installation): Promise<Section[]> {
  const { registry, baseUrl } = installation;
  const guides = await loadGuides(installation);
  const [start, texts, ...others] = GUIDES.map(({ title, names }) => ({
    title,
    pages: names.flatMap((name) => guides.get(name) ?? []),
  }));
  const tools: Section[] = [];
  for (const group of groupTools([...registry.values()])) {
    const pages: Page[] = [];
    for (const tool of group.tools) {
      pages.push(toolPage(tool, baseUrl, installation.packs));
      await setImmediate();
    }
    tools.push({ title: `Tools: ${group.title.toLowerCase()}`, pages });
  }
  return [start, texts, ...tools, ...others].filter((section) => section !== undefined);
}

/**
 * Renders all pages of the site, in less than a second of CPU time. Yields to the event loop after each page, so that other
 * requests are served.
 */
export async function createSite(installation: Installation): Promise<Site> {
  const { baseUrl, registry } = installation;
  const inner = await sectionsOf(installation);
  const tools = toolsPage(registry, installation.packs);
  const overview = overviewPage(inner);
  const [start, ...rest] = inner;
  const sections = [{ title: 'Start', pages: [overview, ...(start?.pages ?? []), tools] }, ...rest];
  const pages = sections.flatMap((section) => section.pages);
  const render = (page: Page, query?: string) =>
    docsLayout({ page, sections, baseUrl, ...(query === undefined ? {} : { query }) });
  const own = operatorPages(installation.operator);
  let results: ReturnType<typeof createSearch> | null = null;
  const landing = createDocument(HTML, landingPage(installation));
  const rendered: [string, Document][] = [];
  for (const page of pages) {
    rendered.push([page.path, createDocument(HTML, render(page))]);
    rendered.push([`${page.path}.md`, createDocument(MARKDOWN, page.markdown)]);
    await setImmediate();
  }
  for (const page of own) {
    rendered.push([page.path, createDocument(HTML, operatorPage(page, baseUrl))]);
    rendered.push([`${page.path}.md`, createDocument(MARKDOWN, page.markdown)]);
  }
  const listed = [...pages, ...own];
  return {
    documents: new Map<string, Document>([
      ['/', landing],
      [PRICING_PATH, createDocument(HTML, pricingPage(installation, new Map()))],
      [`${PRICING_PATH}.md`, createDocument(MARKDOWN, pricingMarkdown(installation))],
      ...rendered,
      ...(await assets()),
      [
        '/llms.txt',
        createDocument(TEXT, llmsText([...sections, { title: 'Operator', pages: own }], baseUrl)),
      ],
      ['/robots.txt', createDocument(TEXT, robots(baseUrl))],
      [
        '/sitemap.xml',
        createDocument(
          'application/xml',
          sitemap(['/', PRICING_PATH, ...listed.map(({ path }) => path)], baseUrl),
        ),
      ],
    ]),
    async search(query) {
      results ??= createSearch(listed);
      const found = (await results)(query);
      return render(unlisted('/docs/search', 'Search', found), query);
    },
    pricing: (fieldOf) => pricingPage(installation, planOf(registry, fieldOf)),
    notFound: createDocument(
      HTML,
      render(
        unlisted(
          '/docs/404',
          'Page not found',
          html`<p>There is no such page. Search for it, or start at the <a href="/docs">overview</a>.</p>`,
        ),
      ),
    ),
  };
}
