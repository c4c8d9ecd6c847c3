import { type Html, html, ownMarkup } from '../dashboard/frame/html.ts';
import type { Area, Page, Scope } from './page.ts';
import { PRICING_PATH } from './paths.ts';
import { REFERENCE_PATH } from './reference/paths.ts';
import { STYLE } from './style.ts';

export const SITE_NAME = 'Utility Tools API';

interface Head {
  /** Path of the page. */
  path: string;
  title: string;
  description: string;
  /** URL of the site, without a trailing slash. */
  baseUrl: string;
  /** Keeps the page out of search engines. */
  isUnlisted?: true;
  /** Path of the page in Markdown. */
  markdown?: string;
  /** Path of the Atom feed with the content of the page. */
  feed?: string | undefined;
}

const head = ({ path, title, description, baseUrl, isUnlisted, markdown, feed }: Head): Html => html`<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<meta name="description" content="${description}">
${isUnlisted ? html`<meta name="robots" content="noindex">` : html`<link rel="canonical" href="${baseUrl}${path}">`}
${markdown === undefined ? null : html`<link rel="alternate" type="text/markdown" href="${markdown}">`}
${feed === undefined ? null : html`<link rel="alternate" type="application/atom+xml" href="${feed}" title="${title}">`}
<meta property="og:type" content="website">
<meta property="og:site_name" content="${SITE_NAME}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:url" content="${baseUrl}${path}">
<meta property="og:image" content="${baseUrl}/social-card.png">
<meta property="og:image:width" content="1200">
<meta property="og:image:height" content="630">
<meta name="twitter:card" content="summary_large_image">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<style>${ownMarkup(STYLE)}</style>
<script src="/docs/assets/site.js" defer></script>
</head>`;

const LINKS = [
  { href: '/docs', name: 'Docs' },
  { href: '/docs/tools', name: 'Tools' },
  { href: REFERENCE_PATH, name: 'API' },
  { href: PRICING_PATH, name: 'Pricing' },
] as const;

/** Labels of the search field; each scope has a search of its own. */
const SEARCHES: Readonly<Record<Scope, string>> = {
  customers: 'Search the docs',
  operators: 'Search operator docs',
};

interface Bar {
  path: string;
  /** The words that were searched for. */
  query?: string | undefined;
  scope?: Scope;
  /** Whether the page has a sidebar, which is a menu on narrow screens. */
  hasMenu?: boolean;
}

const bar = ({
  path,
  query = '',
  scope = 'customers',
  hasMenu = false,
}: Bar): Html => html`<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
${hasMenu ? html`<button class="open" type="button" popovertarget="menu">Menu</button>` : null}
<a class="brand" href="/"><img src="/favicon.svg" alt="" width="24" height="24">Utility Tools</a>
<nav class="pages" aria-label="Site"><ul>
${LINKS.map(
  ({
    href,
    name,
  }) => html`<li><a href="${href}"${path === href ? html` aria-current="page"` : null}>${name}</a></li>
`,
)}</ul></nav>
<form class="search" role="search" action="/docs/search">${scope === 'customers' ? null : html`<input type="hidden" name="for" value="${scope}">`}<input type="search" name="q" value="${query}" placeholder="${SEARCHES[scope]}" aria-label="${SEARCHES[scope]}" maxlength="100"></form>
<button class="scheme" type="button" aria-label="Dark colours" aria-pressed="false"><svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9"/><path d="M12 3a9 9 0 0 1 0 18z"/></svg></button>
<a class="button" href="/dashboard">Dashboard</a>
</header>`;

const FOOTER = html`<footer class="foot">
<ul>
<li><a href="/docs">Documentation</a></li>
<li><a href="${REFERENCE_PATH}">API reference</a></li>
<li><a href="/openapi.json">OpenAPI</a></li>
<li><a href="/llms.txt">llms.txt</a></li>
<li><a href="/docs/self-hosting">For operators</a></li>
<li><a href="/docs/changelog">Changelog</a></li>
<li><a href="/docs/security">Security</a></li>
<li><a href="/status">Status</a></li>
<li><a href="/dashboard">Dashboard</a></li>
<li><a href="/contact">Contact</a></li>
<li><a href="/terms">Terms</a></li>
<li><a href="/privacy">Privacy</a></li>
</ul>
</footer>`;

const frame = (data: Head, content: Html): string =>
  html`<!doctype html>
<html lang="en">
${head(data)}
${content}
</html>
`.markup;

/** A page without a sidebar. */
export const plainLayout = (data: Head, main: Html, kind = 'plain'): string =>
  frame(
    data,
    html`<body class="${kind}">
${bar({ path: data.path })}
<main id="main" tabindex="-1">
${main}
</main>
${FOOTER}
</body>`,
  );

function sidebar({ areas, area, page: { path } }: DocsPage): Html {
  const link = (page: Pick<Page, 'path' | 'title'>) =>
    html`<li><a href="${page.path}"${page.path === path ? html` aria-current="page"` : null}>${page.title}</a></li>
`;
  return html`<nav class="side" id="menu" popover aria-label="Documentation">
<ul class="areas">
${areas.map(
  (it) => html`<li><a href="${it.path}"${it === area ? html` aria-current="true"` : null}>${it.title}</a></li>
`,
)}</ul>
${area.sections.map(
  ({ title, pages }) => html`<h2>${title}</h2>
<ul>
${pages.map(link)}</ul>
`,
)}</nav>`;
}

const contents = ({ headings }: Page): Html =>
  headings.length < 2
    ? html``
    : html`<nav class="toc" aria-label="On this page"><h2>On this page</h2>
<ul>
${headings.map(
  ({ id, text }) => html`<li><a href="#${id}">${text}</a></li>
`,
)}</ul></nav>`;

function neighbours({ sections }: Area, path: string): Html {
  const pages = sections.flatMap((section) => section.pages);
  const index = pages.findIndex((page) => page.path === path);
  const [previous, next] = [pages[index - 1], pages[index + 1]];
  if (index < 0) return html``;
  return html`<nav class="next" aria-label="Neighbouring pages">
${previous === undefined ? html`<span></span>` : html`<a href="${previous.path}"><small>Previous</small> ${previous.title}</a>`}
${next === undefined ? null : html`<a href="${next.path}"><small>Next</small> ${next.title}</a>`}
</nav>`;
}

interface DocsPage {
  page: Page;
  /** All areas of the documentation. */
  areas: readonly Area[];
  /** The area to which the page belongs. */
  area: Area;
  baseUrl: string;
  /** The words that were searched for. */
  query?: string | undefined;
}

/** A page of the documentation, with its sidebar. */
export function docsLayout(docsPage: DocsPage): string {
  const { page, area, baseUrl, query } = docsPage;
  const { path, title, summary, body, feed } = page;
  const group = area.sections.find(({ pages }) => pages.some((it) => it.path === path));
  const isListed = page.markdown !== '';
  return frame(
    {
      path,
      title: `${title} – ${SITE_NAME}`,
      description: summary,
      baseUrl,
      feed,
      ...(isListed ? { markdown: `${path}.md` } : { isUnlisted: true }),
    },
    html`<body class="docs">
${bar({ path, query, scope: area.scope, hasMenu: true })}
<div class="columns">
${sidebar(docsPage)}
<main id="main" tabindex="-1">
${group === undefined || path === area.path ? null : html`<p class="crumb">${group.title}</p>`}
<h1>${title}</h1>
${body}
${isListed ? html`<p class="source"><a href="${path}.md">This page as Markdown</a>${feed === undefined ? null : html` · <a href="${feed}">Atom feed</a>`}</p>` : null}
${neighbours(area, path)}
</main>
${contents(page)}
</div>
${FOOTER}
</body>`,
  );
}
