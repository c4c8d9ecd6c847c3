import { type CheerioAPI, load } from 'cheerio/slim';
import { type Element, isTag } from 'domhandler';
import { readContentType, XHTML_TYPE } from './contentType.ts';
import { decodePage } from './decode.ts';
import type { Page } from './download.ts';
import { parseHtml } from './parse.ts';
import { resolveUrl } from './urls.ts';

/** A page that was decoded and parsed. */
export interface LoadedPage {
  /** To be asked with selectors. Its templates are empty. */
  $: CheerioAPI;
  /** What a page is described by, found in one go: its metadata, headings, links and images, in their order. */
  elements: readonly Element[];
  /** Where it was found. */
  url: string;
  /** What its relative addresses are relative to: the first `base` with an `href`, else its own. */
  base: string;
}

/** The namespace of all elements but those of SVG and MathML. */
export const HTML = 'http://www.w3.org/1999/xhtml';
const DESCRIBING = 'title, base, link, meta, h1, h2, h3, h4, h5, h6, a, area, img';

/**
 * Decodes and parses a page. Blocks for as long as that takes: for jobs.
 *
 * @throws ServiceError source_too_large for a page of too many nodes
 */
export function loadPage({ bytes, contentType, url }: Page): LoadedPage {
  const xhtml = readContentType(contentType).essence === XHTML_TYPE;
  const $ = load(parseHtml(decodePage(bytes, contentType), xhtml));
  // What is in a template belongs to a document of its own, and is no part of the page (HTML Standard, section 4.12.3).
  $('template')
    .filter((_, element) => element.namespace === HTML)
    .empty();
  const elements = $(DESCRIBING).toArray().filter(isTag);
  const base = elements.find(({ name, attribs }) => name === 'base' && attribs.href !== undefined);
  return { $, elements, url, base: resolveUrl(base?.attribs.href, url)?.href ?? url };
}
