import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { html } from '../dashboard/frame/html.ts';
import { filesBelow, scriptFile } from '../dashboard/frame/scriptFile.ts';
import { createDocument, type Document } from '../http/document.ts';
import { createAreas } from './areas.ts';
import { ATOM } from './atom.ts';
import { changelogFeed } from './changelogFeed.ts';
import { type Installation, linkTo } from './guides.ts';
import { llmsText } from './indexPages.ts';
import { landingPage } from './landingPage.ts';
import { docsLayout, plainLayout, SITE_NAME } from './layout.ts';
import { operatorPages } from './operatorPages.ts';
import type { Area, Page, Scope } from './page.ts';
import { CHANGELOG_FEED, CHANGELOG_PATH, PRICING_PATH } from './paths.ts';
import { pictureFiles } from './pictures.ts';
import { planOf, pricingEntry, pricingMarkdown, pricingPage } from './pricingPage.ts';
import { createSearches } from './search.ts';

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';

export interface Site {
  /** All static responses by path. */
  documents: ReadonlyMap<string, Document>;
  /** Renders the results of a search in the pages of a scope. */
  search(query: string, scope: Scope): Promise<string>;
  /** Renders the prices with the costs of a plan. @param fieldOf returns the value of a field of the calculator */
  pricing(fieldOf: (name: string) => string): string;
  /** Rendered for unknown paths below `/docs`. */
  notFound: Document;
}

const pagesOf = ({ sections }: Area): Page[] => sections.flatMap(({ pages }) => pages);

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

/**
 * Renders all pages of the site, in less than a second of CPU time. Yields to the event loop after each page, so that other
 * requests are served.
 */
export async function createSite(installation: Installation): Promise<Site> {
  const { baseUrl, registry } = installation;
  const areas = await createAreas(installation);
  const [main] = areas;
  if (main === undefined) throw new Error('the documentation has no area');
  const render = (page: Page, area: Area, query?: string) =>
    docsLayout({ page, areas, area, baseUrl, query });
  const own = operatorPages(installation.operator);
  const rendered: [string, Document][] = [];
  for (const area of areas)
    for (const page of pagesOf(area)) {
      rendered.push([page.path, createDocument(HTML, render(page, area))]);
      rendered.push([`${page.path}.md`, createDocument(MARKDOWN, page.markdown)]);
      await setImmediate();
    }
  for (const page of own) {
    rendered.push([page.path, createDocument(HTML, operatorPage(page, baseUrl))]);
    rendered.push([`${page.path}.md`, createDocument(MARKDOWN, page.markdown)]);
  }
  const listed = [...areas.flatMap(pagesOf), ...own];
  const changelog = listed.find(({ path }) => path === CHANGELOG_PATH)?.markdown ?? '';
  const searches = createSearches({
    customers: [
      ...areas.filter(({ scope }) => scope === 'customers').flatMap(pagesOf),
      pricingEntry(installation),
      ...own,
    ],
    operators: areas.filter(({ scope }) => scope === 'operators').flatMap(pagesOf),
  });
  return {
    documents: new Map<string, Document>([
      ['/', createDocument(HTML, landingPage(installation))],
      [PRICING_PATH, createDocument(HTML, pricingPage(installation, new Map()))],
      [`${PRICING_PATH}.md`, createDocument(MARKDOWN, pricingMarkdown(installation))],
      ...rendered,
      [CHANGELOG_FEED, createDocument(ATOM, changelogFeed(changelog, baseUrl, linkTo))],
      ...(await assets()),
      [
        '/llms.txt',
        createDocument(
          TEXT,
          llmsText(
            [...areas.flatMap(({ sections }) => sections), { title: 'Operator', pages: own }],
            baseUrl,
          ),
        ),
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
    async search(query, scope) {
      const area = areas.find((it) => it.scope === scope) ?? main;
      return render(unlisted('/docs/search', 'Search', await searches(query, scope)), area, query);
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
        main,
      ),
    ),
  };
}
