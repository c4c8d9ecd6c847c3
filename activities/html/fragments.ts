import { isTag } from 'domhandler';
import { HTML, type LoadedPage } from './load.ts';

/** Possible targets of a fragment in a page: ids of elements and names of `a` elements. */
export type Anchors = ReadonlySet<string>;

export function readAnchors({ $ }: LoadedPage): Anchors {
  const ids = $('[id]').toArray().filter(isTag);
  const named = $('a[name]').toArray().filter(isTag);
  return new Set([
    ...ids.map(({ attribs }) => attribs.id ?? ''),
    ...named.filter(({ namespace }) => namespace === HTML).map(({ attribs }) => attribs.name ?? ''),
  ]);
}

/** Percent-decodes (URL Standard). Unlike `decodeURIComponent`, it leaves invalid sequences unchanged. */
const percentDecode = (text: string): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    Buffer.from(
      Buffer.from(text)
        .toString('latin1')
        .replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
      'latin1',
    ),
  );

/**
 * The part of a fragment that names a place in the page: without the fragment directive, such as `:~:text=…` (WICG
 * "URL Fragment Text Directives").
 *
 * @param hash `hash` of a URL
 */
export const fragmentOf = (hash: string): string => hash.replace(/^#/, '').replace(/:~:.*$/s, '');

/**
 * Whether a fragment names a part of the page ("select the indicated part", HTML Standard section 7.4.6.4): the top, or
 * an anchor that equals the fragment as it is or percent-decoded.
 *
 * @param fragment of `fragmentOf`
 */
export function hasFragment(anchors: Anchors, fragment: string): boolean {
  const decoded = percentDecode(fragment);
  return fragment === '' || anchors.has(fragment) || anchors.has(decoded) || decoded.toLowerCase() === 'top';
}
