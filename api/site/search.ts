import { setImmediate } from 'node:timers/promises';
import { marked } from 'marked';
import MiniSearch from 'minisearch';
import { count } from '../dashboard/components/text.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { anchorOf, withoutLinks } from './markdown.ts';
import type { Page, Scope } from './page.ts';
import { meaningful, stemOf, synonymsOf, topicsOf, weightOf } from './searchWords.ts';

/** A part of a page below one heading. */
interface Part {
  id: string;
  /** Path of the page. */
  path: string;
  href: string;
  page: string;
  /** Words by which visitors look for the page; only in its first part. */
  topics: string;
  heading: string;
  text: string;
  /** Code blocks, which are searched and not shown. */
  code: string;
}

/** Bounds of a query: its cost grows with the number of words. */
const QUERY_CHARACTERS = 100;
const QUERY_WORDS = 8;
/** Shorter words match only whole words, because too many words begin with them. */
const PREFIX_CHARACTERS = 3;
/** Shorter words are not corrected, because too many words differ from them in one letter. */
const CORRECTED_CHARACTERS = 4;
/** Edits of a corrected word, as a share of its length. */
const CORRECTION = 0.25;
/** Weight of a synonym; that of the word itself is 1. */
const SYNONYM_WEIGHT = 0.6;
const BOOSTS = { page: 4, topics: 3, heading: 2, text: 1, code: 0.3 };
const RESULTS = 20;
/** Headings of a page that a result lists. */
const SHOWN_HEADINGS = 3;
/** Share of the score of a page's best heading with which another heading is listed. */
const LISTED_SHARE = 0.4;
const EXCERPT_CHARACTERS = 180;

/** Removes the syntax of Markdown. */
const plain = (text: string): string =>
  withoutLinks(text)
    .replaceAll(/^```.*$|^\|[ :|-]+\|$/gm, '')
    .replaceAll(/^ *- |[`*]/gm, '')
    .replaceAll('|', ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

function partsOf({ path, title, markdown }: Page): Part[] {
  const parts: Part[] = [];
  const begin = (heading: string, anchor: string, topics = '') => {
    const href = `${path}${anchor}`;
    parts.push({
      id: `${href} ${parts.length}`,
      path,
      href,
      page: title,
      topics,
      heading,
      text: '',
      code: '',
    });
  };
  begin(title, '', topicsOf(path));
  for (const token of marked.lexer(markdown)) {
    if (token.type === 'heading' && token.depth > 1)
      begin(plain(token.text), `#${anchorOf(plain(token.text))}`);
    else if (token.type !== 'heading') {
      const last = parts.at(-1);
      if (last !== undefined) last[token.type === 'code' ? 'code' : 'text'] += `${plain(token.raw)} `;
    }
  }
  return parts;
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}_.-]*/gu) ?? [];

/** Words with hyphens, underscores and dots match as a whole and by their parts. */
const tokenize = (text: string): string[] =>
  wordsOf(text).flatMap((word) => [
    word,
    ...(/[_.-]/.test(word) ? word.split(/[_.-]+/).filter(Boolean) : []),
  ]);

/** The part of the text around the first of the words. */
function excerpt(text: string, words: readonly string[]): string {
  const at = words.map((word) => text.toLowerCase().indexOf(word)).find((index) => index >= 0) ?? 0;
  const start = at < EXCERPT_CHARACTERS / 3 ? 0 : text.lastIndexOf(' ', at - EXCERPT_CHARACTERS / 3) + 1;
  const isWhole = start + EXCERPT_CHARACTERS >= text.length;
  const end = isWhole ? text.length : text.lastIndexOf(' ', start + EXCERPT_CHARACTERS);
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${isWhole ? '' : ' …'}`;
}

/** A page that was found, with its parts, the best first. */
interface Found {
  score: number;
  parts: { part: Part; score: number }[];
  /** Words of the index that matched. */
  terms: string[];
}

/** A page while its parts are collected. */
interface Candidate extends Pick<Found, 'parts' | 'terms'> {
  /** For each word of the question, the score of the part that it fits best. */
  best: Map<string, number>;
}

/** Ranks the pages for a question. */
type Rank = (query: string) => Found[];

async function createRank(pages: readonly Page[]): Promise<Rank> {
  const index = new MiniSearch<Part>({ fields: Object.keys(BOOSTS), tokenize, processTerm: stemOf });
  const byId = new Map<string, Part>();
  for (const page of pages) {
    const parts = partsOf(page);
    for (const part of parts) byId.set(part.id, part);
    index.addAll(parts);
    await setImmediate();
  }

  /** Finds the parts that contain a word, one that begins with it, or one with the same meaning; else it is corrected. */
  function search(word: string) {
    const options = { boost: BOOSTS, prefix: (term: string) => term.length >= PREFIX_CHARACTERS };
    const stem = stemOf(word);
    const found = index.search(
      {
        combineWith: 'OR',
        queries: [word, { queries: [...synonymsOf(stem)], boostTerm: () => SYNONYM_WEIGHT, prefix: false }],
      },
      options,
    );
    if (found.length > 0 || word.length < CORRECTED_CHARACTERS) return found;
    return index.search(word, { ...options, fuzzy: CORRECTION });
  }

  return (query) => {
    const asked = meaningful(wordsOf(query.slice(0, QUERY_CHARACTERS)));
    const words = [...new Set(asked)].slice(0, QUERY_WORDS);
    const found = new Map<string, Candidate>();
    for (const word of words)
      for (const { id, score, terms } of search(word)) {
        const part = byId.get(String(id));
        if (part === undefined) continue;
        const page: Candidate = found.get(part.path) ?? { parts: [], terms: [], best: new Map() };
        found.set(part.path, page);
        page.best.set(word, Math.max(score, page.best.get(word) ?? 0));
        page.terms.push(...terms);
        const known = page.parts.find((it) => it.part === part);
        if (known === undefined) page.parts.push({ part, score });
        else known.score += score;
      }
    // A page that has all words comes before one that has some of them often.
    return [...found]
      .map(([path, { best, parts, terms }]) => ({
        score:
          [...best.values()].reduce((sum, score) => sum + score, 0) *
          (best.size / words.length) ** 2 *
          weightOf(path),
        parts: parts.sort((a, b) => b.score - a.score),
        terms,
      }))
      .sort((a, b) => b.score - a.score);
  };
}

/** The part that a result shows: the best one with text, which code is not; if it has none, the beginning of the page. */
const shownOf = (parts: Found['parts']): Found['parts'][number] | undefined =>
  parts[0]?.part.text.trim() === ''
    ? (parts.find(({ part }) => part.heading === part.page) ??
      parts.find(({ part }) => part.text.trim() !== ''))
    : parts[0];

function resultMarkup({ parts, terms }: Found): Html {
  const best = shownOf(parts) ?? parts[0];
  if (best === undefined) return html``;
  const { page, path, href, heading, text } = best.part;
  const others = parts
    .filter((it) => it !== best && it.part.heading !== page && it.score >= LISTED_SHARE * best.score)
    .slice(0, SHOWN_HEADINGS);
  return html`<li><a href="${path}">${page}</a>${heading === page ? null : html` › <a href="${href}">${heading}</a>`}
<p>${excerpt(text, terms)}</p>${
    others.length === 0
      ? null
      : html`<p class="parts">${others.map(
          ({ part }, position) =>
            html`${position === 0 ? null : ' · '}<a href="${part.href}">${part.heading}</a>`,
        )}</p>`
  }</li>
`;
}

const OTHER: Readonly<Record<Scope, { scope: Scope; name: string }>> = {
  customers: { scope: 'operators', name: 'the documentation for operators' },
  operators: { scope: 'customers', name: 'the documentation' },
};

/** A link to the same search in the other scope. */
const elsewhere = (query: string, scope: Scope): Html => {
  const other = OTHER[scope];
  const parameters = new URLSearchParams({ q: query, for: other.scope });
  return html`<p class="note">Search for this in <a href="/docs/search?${String(parameters)}">${other.name}</a>.</p>`;
};

function render(found: readonly Found[], query: string, scope: Scope): Html {
  if (found.length === 0) return html`<p>No page contains these words.</p>${elsewhere(query, scope)}`;
  const shown = Math.min(found.length, RESULTS);
  return html`<p>${shown < found.length ? `The first ${shown} of ${found.length} pages` : count(shown, 'page')} for <q>${query}</q></p>
<ol class="results">
${found.slice(0, RESULTS).map(resultMarkup)}</ol>
${elsewhere(query, scope)}`;
}

/** Returns a function that renders the results of a query. The index of a scope is created at its first search. */
export function createSearches(
  pages: Readonly<Record<Scope, readonly Page[]>>,
): (query: string, scope: Scope) => Promise<Html> {
  const ranks = new Map<Scope, Promise<Rank>>();
  return async (query, scope) => {
    if (tokenize(query).length === 0)
      return html`<p>Enter a word, such as the name of a tool, a field or an error code, or a question.</p>`;
    const rank = ranks.get(scope) ?? createRank(pages[scope]);
    ranks.set(scope, rank);
    return render((await rank)(query), query.slice(0, QUERY_CHARACTERS), scope);
  };
}
