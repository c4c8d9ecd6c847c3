import type { Element } from 'domhandler';
import { PART_CODE_POINTS } from '../../schemas/formats/pageParts.ts';
import type { LoadedPage } from './load.ts';
import { elementText } from './text.ts';
import { resolveUrl } from './urls.ts';

/** A URL that a page links to. */
export interface Link {
  /** Absolute http or https URL, without its fragment unless `keepFragments` is set. */
  url: string;
  /** Text of the first link to this URL that has a text; empty when none has. */
  text: string;
  /** Whether the link's host equals that of the page, ignoring scheme, port and a leading `www.` */
  internal: boolean;
  /** Whether every link to this URL has `rel=nofollow`. */
  nofollow: boolean;
}

const siteOf = (url: URL): string => url.hostname.replace(/^www\./, '');

const isNofollow = ({ attribs: { rel = '' } }: Element): boolean =>
  rel.toLowerCase().split(/\s+/).includes('nofollow');

/**
 * Returns the distinct URLs of `a` and `area` elements in document order. Skips invalid URLs and schemes other than
 * http and https.
 *
 * @param limit maximum length of `links`; `total` counts all distinct URLs
 * @param keepFragments whether URLs that differ only in their fragments are distinct
 */
export function findLinks(
  page: LoadedPage,
  limit: number,
  keepFragments = false,
): { total: number; links: Link[] } {
  const site = siteOf(new URL(page.url));
  const found = new Map<string, Link>();
  const beyond = new Set<string>();
  for (const element of page.elements) {
    if (element.name !== 'a' && element.name !== 'area') continue;
    const url = resolveUrl(element.attribs.href, page.base);
    if (url === null) continue;
    // An empty fragment (a final `#`) is always removed.
    if (url.hash === '' ? url.href.endsWith('#') : !keepFragments) url.hash = '';
    const { href } = url;
    const known = found.get(href);
    if (known === undefined && found.size >= limit) {
      beyond.add(href);
      continue;
    }
    const text = known?.text || elementText(element, PART_CODE_POINTS);
    const nofollow = (known?.nofollow ?? true) && isNofollow(element);
    found.set(href, { url: href, text, internal: siteOf(url) === site, nofollow });
  }
  return { total: found.size + beyond.size, links: [...found.values()] };
}
