import type { LoadedPage } from './load.ts';
import { resolveUrl } from './urls.ts';

/**
 * The value of a `refresh` that names a URL: seconds, a separator and the URL, with or without `url=` and quotation marks
 * (HTML Standard, section 4.2.5.3, "shared declarative refresh steps").
 */
const REFRESH =
  /^\s*(?:(\d+)(?:\.[\d.]*)?|\.[\d.]*)(?:\s*[;,]\s*|\s+)(?:url\s*=\s*)?(?:"([^"]*)|'([^']*)|(.*))/is;

/**
 * Returns the URL, without its fragment, that a browser opens at once instead of a page: that of a `refresh` after 0 s, in a
 * `meta` element or in the header of the response. Null if there is none, or if it is the page itself.
 *
 * @param header value of the header; null when missing
 */
export function findRefresh({ elements, url, base }: LoadedPage, header: string | null): string | null {
  const metas = elements.filter(
    ({ name, attribs }) => name === 'meta' && attribs['http-equiv']?.trim().toLowerCase() === 'refresh',
  );
  for (const value of [header, ...metas.map(({ attribs }) => attribs.content)]) {
    const found = REFRESH.exec(value ?? '');
    if (found === null || Number(found[1] ?? 0) > 0) continue;
    const next = resolveUrl((found[2] ?? found[3] ?? found[4] ?? '').trim(), value === header ? url : base);
    if (next === null) continue;
    next.hash = '';
    if (next.href !== url) return next.href;
  }
  return null;
}
