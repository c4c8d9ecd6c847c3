import { isText } from 'domhandler';
import { isRecord } from '../../../schemas/isRecord.ts';
import type { Block } from './blocks.ts';
import type { Measures } from './measures.ts';
import { metaContent, type PageIndex } from './pageIndex.ts';

/** Types of schema.org that say what a page is about. */
const SCHEMA_TYPES: Readonly<Record<string, RegExp>> = {
  article:
    /^(?:news|blog|tech|scholarly|report)?(?:article|posting)$|^(?:article|blogposting|recipe|howto|report)$/,
  product: /^(?:product|productgroup|individualproduct|vehicle|book|movie)$/,
  offers: /^(?:offer|aggregateoffer)$/,
  list: /^(?:itemlist|collectionpage|offercatalog|searchresultspage)$/,
  thread: /^(?:qapage|question|answer|discussionforumposting|comment)$/,
  faq: /^faqpage$/,
  crumbs: /^breadcrumblist$/,
  company:
    /^(?:organization|localbusiness|corporation|service|professionalservice|softwareapplication|webapplication)$/,
  course: /^(?:course|event|jobposting)$/,
};
const URL_WORDS: Readonly<Record<string, RegExp>> = {
  product:
    /\/(?:products?|p|dp|item|itm|pd|pdp|sku|shop\/p)(?:\/|$|\.)|\/(?:ip|product-page)\/|-p-?\d+|\.prd|\/[a-z]?\d{6,}(?:\.html?)?$/,
  collection:
    /\/(?:collections?|categor(?:y|ies)|c|cat|shop|browse|b|departments?|plp|store)(?:\/|$)|\/t\/|-c-?\d+/,
  listing:
    /\/(?:topics?|tags?|archives?|courses|events|jobs|reviews|directory|list|search|index|resources|recipes|best|news|blog|articles)\/?(?:[?#]|$)|\/(?:category|tag|author|topics?)\//,
  forum:
    /forums?|\/threads?\b|\/topic|community|discuss|\/t\/[a-z0-9-]+\/\d+|\/questions?\/|showthread|viewtopic|\/comments\/|\/issues\/\d|\/r\//,
  docs: /\bdocs?\b|documentation|\/(?:reference|manual|guide|guides|api|wiki|tutorials?|learn|help|handbook|man|kb)\b|readthedocs|developer|\/latest\/|\/stable\/|\/v?\d+\.\d+\//,
  article:
    /\/(?:blog|news|article|articles|story|stories|post|posts|magazine|insights|opinion)\/[^/]+|\/(?:19|20)\d\d\/\d/,
  service: /\/(?:services?|solutions?|pricing|features?|platform|about|contact|industries|products?|plans)\b/,
};
const PLATFORMS: Readonly<Record<string, RegExp>> = {
  forum:
    /discourse|xenforo|phpbb|vbulletin|invision|ips |mybb|smf|flarum|vanilla|nodebb|simple machines|question2answer/,
  shop: /shopify|woocommerce|magento|bigcommerce|prestashop|opencart|demandware|salesforce commerce/,
  docs: /docusaurus|sphinx|mkdocs|gitbook|hugo|jekyll|mediawiki|vuepress|vitepress|doxygen|asciidoctor|antora|javadoc|readme/,
  blog: /wordpress|ghost|medium|blogger|squarespace|wix|drupal|joomla/,
};
/** Number of addresses of scripts and style sheets that are read. */
const MAX_ADDRESSES = 60;
/** Longest script with JSON-LD in characters. */
const MAX_JSON = 1_000_000;

interface PageFacts {
  /** The objects of the page's JSON-LD. */
  data: readonly Record<string, unknown>[];
  features: number[];
}

function collect(value: unknown, found: Record<string, unknown>[], depth: number): void {
  if (depth > 8 || found.length > 2000) return;
  if (Array.isArray(value)) for (const item of value) collect(item, found, depth + 1);
  else if (isRecord(value)) {
    found.push(value);
    for (const item of Object.values(value)) if (typeof item === 'object') collect(item, found, depth + 1);
  }
}

/** Reads the objects of a page's JSON-LD, also those inside others. Skips scripts that are no JSON. */
function readJsonLd({ listed }: PageIndex): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = [];
  for (const { attribs, children } of listed.get('script') ?? []) {
    if (attribs.type?.toLowerCase() !== 'application/ld+json') continue;
    const [child] = children;
    if (child === undefined || !isText(child) || child.data.length > MAX_JSON) continue;
    try {
      collect(JSON.parse(child.data.replaceAll(/[\n\r\t]+/g, ' ')), found, 0);
    } catch {
      // Invalid JSON-LD is common, and the features do without it.
    }
  }
  return found;
}

const typesOf = (data: readonly Record<string, unknown>[]): string[] =>
  data
    .flatMap((it) => it['@type'])
    .filter((type) => typeof type === 'string')
    .map((type) => type.toLowerCase());

const PRICE = /(?:[$€£¥₹]|\b(?:usd|eur|gbp|rs\.?))\s?\d|\d\s?(?:€|£|kr\b|zł|usd\b|eur\b)/i;
const REPLY = /\b(?:repl(?:y|ies)|quote|posts?:|joined|members?|thread|upvote|likes?|answers?|views)\b/i;
const CART = /\badd to (?:cart|bag|basket)|buy now|in stock|out of stock|quantity|free shipping|wishlist\b/i;

export const PAGE_FEATURES = [
  'blocks',
  'words',
  'linkShare',
  'proseShare',
  'proseBlocks',
  'meanWords',
  'longest',
  'h1',
  'h2',
  'h3',
  'tables',
  'pre',
  'items',
  'forms',
  'articles',
  'times',
  'sections',
  'prices',
  'reply',
  'cart',
  'questions',
  'repeatMax',
  'repeatShare',
  'repeatWords',
  'images',
  'main',
  'pathDepth',
  'slugWords',
  'isRoot',
  'query',
  'urlDigits',
  'ogArticle',
  'ogProduct',
  'ogWebsite',
  'published',
  'titleWords',
  'imagesPerWords',
  'codeShare',
  'headingShare',
  'listShare',
  'ctas',
  ...Object.keys(SCHEMA_TYPES).map((name) => `schema.${name}`),
  ...Object.keys(URL_WORDS).map((name) => `url.${name}`),
  ...Object.keys(PLATFORMS).map((name) => `platform.${name}`),
] as const;

const countOf = (text: string, pattern: RegExp): number => (pattern.test(text) ? 1 : 0);

/** Describes a page as a whole by numbers, named by `PAGE_FEATURES`. */
export function describePage(
  url: string,
  title: string,
  index: PageIndex,
  blocks: readonly Block[],
  measures: Measures,
): PageFacts {
  const { counts, listed } = index;
  const data = readJsonLd(index);
  const types = typesOf(data);
  const sum = (select: (index: number) => boolean): number =>
    measures.words.reduce((total, words, index) => total + (select(index) ? words : 0), 0);
  const total = Math.max(
    1,
    sum(() => true),
  );
  const count = (name: string): number => Math.log1p(counts.get(name) ?? 0);
  const meta = (name: string): string => metaContent(index, name).toLowerCase();
  const { pathname, search } = new URL(url);
  const parts = pathname.split('/').filter((part) => part !== '');
  const slug = parts.at(-1) ?? '';
  let [repeatMax, repeatShare, repeatWords] = [0, 0, 0];
  const families = new Map<unknown, number>();
  for (const [index, block] of blocks.entries()) {
    for (let at = block.box, level = 0; level < 6; level++) {
      if (at.repeats >= 4 && at.parent !== null && at.element.name !== 'p') {
        const key = `${at.parent.start}/${at.parent.depth}/${at.signature}`;
        const words = (families.get(key) ?? 0) + (measures.words[index] ?? 0);
        families.set(key, words);
        if (words > repeatWords) [repeatWords, repeatMax] = [words, at.repeats];
      }
      if (at.parent === null) break;
      at = at.parent;
    }
  }
  repeatShare = repeatWords / total;
  const [html] = listed.get('html') ?? [];
  const [body] = listed.get('body') ?? [];
  const generator = [
    meta('generator'),
    html?.attribs.class,
    body?.attribs.class,
    body?.attribs.id,
    html?.attribs.id,
  ]
    .map((text) => text ?? '')
    .join(' ')
    .toLowerCase();
  const hosts = [...(listed.get('script') ?? []), ...(listed.get('link') ?? [])]
    .map(({ attribs }) => attribs.src ?? attribs.href ?? '')
    .filter((address) => address !== '')
    .slice(0, MAX_ADDRESSES)
    .join(' ')
    .toLowerCase();
  const tests = (pattern: RegExp): number =>
    Math.log1p(blocks.reduce((n, { text }) => n + (text.length < 200 ? countOf(text, pattern) : 0), 0));
  const inside = (names: string): number => {
    const set = new Set(names.split(' '));
    return (
      sum((index) => {
        for (let box = blocks[index]?.box ?? null; box !== null; box = box.parent)
          if (set.has(box.element.name)) return true;
        return false;
      }) / total
    );
  };
  const prose = sum((index) => measures.prose[index] === true);
  const full = url.toLowerCase();
  const features = [
    Math.log1p(blocks.length),
    Math.log1p(total),
    sum((index) => measures.linked[index] === true) / total,
    prose / total,
    Math.log1p(measures.prose.filter(Boolean).length),
    total / Math.max(1, blocks.length),
    measures.words.reduce((most, words) => Math.max(most, words), 0),
    count('h1'),
    count('h2'),
    count('h3'),
    count('table'),
    count('pre'),
    count('li'),
    count('form'),
    count('article'),
    count('time'),
    count('section'),
    tests(PRICE),
    tests(REPLY),
    tests(CART),
    tests(/\?$/),
    Math.log1p(repeatMax),
    repeatShare,
    repeatWords / Math.max(1, repeatMax),
    count('img'),
    count('main'),
    parts.length,
    slug.split(/[-_]/).length,
    parts.length === 0 ? 1 : 0,
    search === '' ? 0 : 1,
    (slug.match(/\d/g) ?? []).length,
    countOf(meta('og:type'), /article/),
    countOf(meta('og:type'), /product/),
    countOf(meta('og:type'), /website/),
    meta('article:published_time') === '' ? 0 : 1,
    title.split(/\s+/).length,
    Math.log1p(counts.get('img') ?? 0) - Math.log1p(total),
    inside('pre code'),
    inside('h1 h2 h3 h4'),
    inside('li'),
    tests(
      /^(?:get started|learn more|contact us|book a demo|request a demo|try (?:it )?free|start free trial|get a quote|sign up free|schedule)/i,
    ),
    ...Object.values(SCHEMA_TYPES).map((pattern) =>
      Math.log1p(types.filter((type) => pattern.test(type)).length),
    ),
    ...Object.values(URL_WORDS).map((pattern) => countOf(full, pattern)),
    ...Object.values(PLATFORMS).map((pattern) => countOf(`${generator} ${hosts}`, pattern)),
  ];
  return { data, features };
}
