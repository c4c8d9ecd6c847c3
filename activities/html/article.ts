import { Readability } from '@mozilla/readability';
import { isTag } from 'domhandler';
import { parseHTML } from 'linkedom';
import type { LoadedPage } from './load.ts';
import { resolveUrl } from './urls.ts';

/** Selects parts of an article page that do not belong to the text of the article. */
const BESIDE =
  'figcaption, aside, nav, footer, form, button, [class*=caption i], [class*=related i], [class*=share i], ' +
  '[class*=sharing i], [class*=newsletter i], [class*=promo i], [class*=credit i], [class*=byline i], [class*=comment i], ' +
  '[class*=author i], [class*=recommend i], [class*=social i], [class*=breadcrumb i], [class*=read-more i], ' +
  '[class*=readmore i], [class*=tags i], [class*=subscribe i], [class*=copyright i], [class*=timestamp i], ' +
  '[id*=related i], [id*=comment i]';
/** An element that contains more than this share of the page's text is content, whatever its class is. */
const MAX_SHARE = 0.3;
/**
 * If less than this share of the paragraphs is left, the article itself was removed together with the parts around it.
 */
const MIN_LEFT = 0.6;
/** Elements that are removed if they contain little more than links, such as lists of other articles. */
const BLOCKS = 'p, li, ul, ol, div, h1, h2, h3, h4, h5, h6, table';
const LINK_SHARE = 0.8;
const LINK_BLOCK_CHARACTERS = 400;
/** Largest number of elements that Readability is given. Its running time grows faster than the number of elements. */
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

/** Makes the URLs of links and images absolute. Removes URLs that are invalid or neither http nor https. */
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

/** Removes elements whose content is invisible but which Readability would read as text. */
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
 * Finds the main content of a page with Mozilla's Readability, without the parts that pages put beside an article,
 * unless the article itself looks like one of them. Blocks the event loop, so it is called only in the child processes
 * that run jobs.
 *
 * @returns an element with the content and absolute URLs; null when the page has no content or too many elements
 */
export function findArticle({ $, base }: LoadedPage): Element | null {
  if ($('*').toArray().filter(isTag).length > MAX_ELEMENTS) return null;
  // The HTML is serialized from the parsed page, because the depth of the parsed page is limited.
  const html = `<!doctype html>${$('html').prop('outerHTML') ?? ''}`;
  const whole = extract(html, () => undefined);
  const stripped = extract(html, removeBeside);
  const found = paragraphLength(stripped) < MIN_LEFT * paragraphLength(whole) ? whole : stripped;
  if (found.textContent.trim() === '') return null;
  removeLinkBlocks(found);
  resolveUrls(found, base);
  return found;
}
