import { type CheerioAPI, load } from 'cheerio/slim';
import { type Element, isTag } from 'domhandler';
import { readContentType, XHTML_TYPE } from './contentType.ts';
import { decodePage } from './decode.ts';
import type { Page } from './download.ts';
import { parseHtml } from './parse.ts';
import { resolveUrl } from './urls.ts';

/** A page that was decoded and parsed. */
export interface LoadedPage {
  /** To be asked with selectors. */
  $: CheerioAPI;
  /** What a page is described by, found in one go: its metadata, headings, links and images, in their order. */
  elements: readonly Element[];
  /** Where it was found. */
  url: string;
  /** What its relative addresses are relative to: the first `base` with an `href`, else its own. */
  base: string;
}

const DESCRIBING = 'title, base, link, meta, h1, h2, h3, h4, h5, h6, a, area, img';

/**
 * Decodes and parses a page. Blocks for as long as that takes: for threads.
 *
 * @throws ServiceError source_too_large for a page of too many nodes
 */
export function loadPage({ bytes, contentType, url }: Page): LoadedPage {
  const xhtml = readContentType(contentType).essence === XHTML_TYPE;
  const $ = load(parseHtml(decodePage(bytes, contentType), xhtml));
  const elements = $(DESCRIBING).toArray().filter(isTag);
  const base = elements.find(({ name, attribs }) => name === 'base' && attribs.href !== undefined);
  return { $, elements, url, base: resolveUrl(base?.attribs.href, url)?.href ?? url };
}
