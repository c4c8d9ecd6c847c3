import { Readability } from '@mozilla/readability';
import { isTag } from 'domhandler';
import { parseHTML } from 'linkedom';
import type { LoadedPage } from './load.ts';
import { resolveUrl } from './urls.ts';

/** Parts of an article page beside its text. */
const BESIDE =
  'figcaption, aside, nav, footer, form, button, [class*=caption i], [class*=related i], [class*=share i], ' +
  '[class*=sharing i], [class*=newsletter i], [class*=promo i], [class*=credit i], [class*=byline i], [class*=comment i], ' +
  '[class*=author i], [class*=recommend i], [class*=social i], [class*=breadcrumb i], [class*=read-more i], ' +
  '[class*=readmore i], [class*=tags i], [class*=subscribe i], [class*=copyright i], [class*=timestamp i], ' +
  '[id*=related i], [id*=comment i]';
/** An element with a larger share of the page's text is its content, whatever its class. */
const MAX_SHARE = 0.3;
/** With less of the paragraphs left, the article was removed with its surroundings. */
const MIN_LEFT = 0.6;
/** Blocks that are little more than links, such as lists of other articles. */
const BLOCKS = 'p, li, ul, ol, div, h1, h2, h3, h4, h5, h6, table';
const LINK_SHARE = 0.8;
const LINK_BLOCK_CHARACTERS = 400;
/** Readability's time grows faster than the number of elements. */
const MAX_ELEMENTS = 100_000;

function removeBeside(document: Document): void {
  const all = document.body.textContent.length;
  for (const element of document.querySelectorAll(BESIDE))
    if (element.textContent.length < all * MAX_SHARE) element.remove();
}

function removeLinkBlocks(root: Element): void {
  for (const element of root.querySelectorAll(BLOCKS)) {
    const { length } = element.textContent.trim();
    if (length === 0 || length >= LINK_BLOCK_CHARACTERS) continue;
    let linked = 0;
    for (const link of element.querySelectorAll('a')) linked += link.textContent.trim().length;
    if (linked / length > LINK_SHARE) element.remove();
  }
}

/** Makes the URLs of links and images absolute. Removes those of other schemes. */
function resolveUrls(root: Element, base: string): void {
  for (const [selector, name] of [
    ['a', 'href'],
    ['img', 'src'],
  ] as const)
    for (const element of root.querySelectorAll(selector)) {
      const url = resolveUrl(element.getAttribute(name) ?? undefined, base);
      if (url === null) element.removeAttribute(name);
      else element.setAttribute(name, url.href);
    }
}

/** Removes what Readability would read as text. */
function removeInvisible(document: Document): void {
  for (const element of document.querySelectorAll('script, style, template')) element.remove();
}

const paragraphLength = (root: Element): number => {
  let length = 0;
  for (const { textContent } of root.querySelectorAll('p')) length += textContent.trim().length;
  return length === 0 ? root.textContent.trim().length : length;
};

function extract(html: string, prepare: (document: Document) => void): Element {
  const { document } = parseHTML(html);
  removeInvisible(document);
  prepare(document);
  const content = new Readability(document, { maxElemsToParse: MAX_ELEMENTS }).parse()?.content ?? '';
  return parseHTML(`<!doctype html><html><body>${content}</body></html>`).document.body;
}

/**
 * Finds the main content of a page by Mozilla's Readability, without the parts that pages put beside an article, unless the
 * article itself looks like one of them. Synchronous, so only for jobs.
 *
 * @returns an element with the content and absolute URLs; null when the page has none or too many elements
 */
export function findArticle({ $, base }: LoadedPage): Element | null {
  if ($('*').toArray().filter(isTag).length > MAX_ELEMENTS) return null;
  // Serialised from the parsed page, whose depth is limited.
  const html = `<!doctype html>${$('html').prop('outerHTML') ?? ''}`;
  const whole = extract(html, () => undefined);
  const stripped = extract(html, removeBeside);
  const found = paragraphLength(stripped) < MIN_LEFT * paragraphLength(whole) ? whole : stripped;
  if (found.textContent.trim() === '') return null;
  removeLinkBlocks(found);
  resolveUrls(found, base);
  return found;
}
