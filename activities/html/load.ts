import { type CheerioAPI, load } from 'cheerio/slim';
import { type ChildNode, type Element, hasChildren, isTag, type ParentNode } from 'domhandler';
import { readContentType, XHTML_TYPE } from './contentType.ts';
import { decodePage } from './decode.ts';
import type { Page } from './download.ts';
import { parseHtml } from './parse.ts';
import { flattenShadowRoots, HTML, type Scopes } from './shadow.ts';
import { resolveUrl } from './urls.ts';

/** A decoded and parsed page. */
export interface LoadedPage {
  /** Cheerio's function for selectors, bound to the page. The page's `template` elements are empty. */
  $: CheerioAPI;
  /** Elements with metadata, headings, links and images in document order, found with one query. */
  elements: readonly Element[];
  /** The hosts of the declarative shadow roots whose elements `$` contains like other elements. */
  scopes: Scopes;
  /** URL of the page after redirects. */
  url: string;
  /**
   * URL against which relative URLs are resolved: that of the first `base` element with an `href`, else the page's own.
   */
  base: string;
}

export { HTML };

/** Elements with metadata of the whole document. */
const METADATA = new Set(['title', 'base', 'link', 'meta']);
const COLLECTED = new Set([...METADATA, 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'a', 'area', 'img']);

/**
 * Returns the elements with names in `COLLECTED` in document order, and empties `template` elements: their content belongs to
 * a separate document (HTML Standard, section 4.12.3).
 */
function collectElements(root: ParentNode): Element[] {
  const found: Element[] = [];
  const waiting: ChildNode[] = root.children.toReversed();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!hasChildren(node)) continue;
    if (isTag(node)) {
      if (node.name === 'template' && node.namespace === HTML) node.children = [];
      if (COLLECTED.has(node.name)) found.push(node);
    }
    for (let at = node.children.length - 1; at >= 0; at--) {
      const child = node.children[at];
      if (child !== undefined) waiting.push(child);
    }
  }
  return found;
}

/**
 * Decodes and parses a page. Blocks the event loop, so it is called only in the child processes that run jobs.
 *
 * @throws ServiceError source_too_large when the page has too many nodes
 */
export function loadPage({ bytes, contentType, url }: Page): LoadedPage {
  const xhtml = readContentType(contentType).essence === XHTML_TYPE;
  const document = parseHtml(decodePage(bytes, contentType), xhtml);
  const scopes = flattenShadowRoots(document);
  const $ = load(document);
  // Browsers read the metadata of the document only, not of shadow roots.
  const elements = collectElements(document).filter(
    (element) => !METADATA.has(element.name) || !scopes.has(element),
  );
  const base = elements.find(({ name, attribs }) => name === 'base' && attribs.href !== undefined);
  return { $, elements, scopes, url, base: resolveUrl(base?.attribs.href, url)?.href ?? url };
}
