import { setImmediate } from 'node:timers/promises';
import { marked } from 'marked';
import MiniSearch from 'minisearch';
import { count } from '../dashboard/components/text.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { anchorOf, withoutLinks } from './markdown.ts';
import type { Page } from './page.ts';

/** A part of a page below one heading. */
interface Part {
  id: string;
  href: string;
  page: string;
  heading: string;
  text: string;
}

/** Bounds of a query: its cost grows with the number of words. */
const QUERY_CHARACTERS = 100;
const QUERY_WORDS = 6;
/** Shorter words match only whole words, because too many words begin with them. */
const PREFIX_CHARACTERS = 3;
const RESULTS = 20;
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
  const begin = (heading: string, anchor: string) => {
    const href = `${path}${anchor}`;
    parts.push({ id: `${href} ${parts.length}`, href, page: title, heading, text: '' });
  };
  begin(title, '');
  for (const token of marked.lexer(markdown)) {
    if (token.type === 'heading' && token.depth > 1)
      begin(plain(token.text), `#${anchorOf(plain(token.text))}`);
    else if (token.type !== 'heading') {
      const last = parts.at(-1);
      if (last !== undefined) last.text += `${plain(token.raw)} `;
    }
  }
  return parts;
}

/** Words with hyphens, underscores and dots match as a whole and by their parts. */
const tokenize = (text: string): string[] => {
  const words = text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}_.-]*/gu) ?? [];
  return words.flatMap((word) => [word, ...(/[_.-]/.test(word) ? word.split(/[_.-]+/).filter(Boolean) : [])]);
};

/** The part of the text around the first of the words. */
function excerpt(text: string, words: readonly string[]): string {
  const at = words.map((word) => text.toLowerCase().indexOf(word)).find((index) => index >= 0) ?? 0;
  const start = at < EXCERPT_CHARACTERS / 3 ? 0 : text.lastIndexOf(' ', at - EXCERPT_CHARACTERS / 3) + 1;
  const isWhole = start + EXCERPT_CHARACTERS >= text.length;
  const end = isWhole ? text.length : text.lastIndexOf(' ', start + EXCERPT_CHARACTERS);
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${isWhole ? '' : ' …'}`;
}

/** Indexes the pages and returns a function that renders the results of a query. */
export async function createSearch(pages: readonly Page[]): Promise<(query: string) => Html> {
  const index = new MiniSearch<Part>({ fields: ['page', 'heading', 'text'], tokenize });
  const byId = new Map<string, Part>();
  for (const page of pages) {
    const parts = partsOf(page);
    for (const part of parts) byId.set(part.id, part);
    index.addAll(parts);
    await setImmediate();
  }
  return (query) => {
    const words = tokenize(query.slice(0, QUERY_CHARACTERS)).slice(0, QUERY_WORDS);
    if (words.length === 0)
      return html`<p>Enter a word, such as the name of a tool, a field or an error code.</p>`;
    const prefix = (word: string) => word.length >= PREFIX_CHARACTERS;
    const options = { prefix, boost: { page: 3, heading: 2 }, tokenize: () => words };
    const found = index.search(query, { ...options, combineWith: 'AND' });
    const results = found.length > 0 ? found : index.search(query, options);
    if (results.length === 0) return html`<p>No page contains these words.</p>`;
    const shown = Math.min(results.length, RESULTS);
    return html`<p>${shown < results.length ? `The first ${shown} of ${results.length} results` : count(shown, 'result')} for <q>${query}</q></p>
<ol class="results">
${results.slice(0, RESULTS).map(({ id, terms }) => {
  const part = byId.get(String(id));
  if (part === undefined) return html``;
  return html`<li><a href="${part.href}">${part.page}${part.heading === part.page ? null : ` › ${part.heading}`}</a>
<p>${excerpt(part.text, terms)}</p></li>
`;
})}</ol>`;
  };
}
