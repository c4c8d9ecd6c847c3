import { isTag } from 'domhandler';
import { HTML, type LoadedPage } from './load.ts';

/** Names in a page that a URL fragment can refer to: ids of elements and names of `a` elements. */
type Anchors = ReadonlySet<string>;

export function readAnchors({ $, scopes }: LoadedPage): Anchors {
  // A fragment does not refer to elements of shadow roots.
  const find = (selector: string) =>
    $(selector)
      .toArray()
      .filter(isTag)
      .filter((element) => !scopes.has(element));
  const ids = find('[id]');
  const named = find('a[name]');
  return new Set([
    ...ids.map(({ attribs }) => attribs.id ?? ''),
    ...named.filter(({ namespace }) => namespace === HTML).map(({ attribs }) => attribs.name ?? ''),
  ]);
}

/** Percent-decodes a text (URL Standard). Unlike `decodeURIComponent`, leaves invalid sequences unchanged. */
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
 * Matches fragments that scripts read, and that are no names of elements: routes of an application, such as `#/users`, `#!users` or
 * `#users/1`, parameters such as `#tab=files`, and lines of a file, `#L10-L20`.
 */
const FOR_SCRIPTS = /^!|[/?=]|^L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?$/;

/**
 * Returns the part of a URL's fragment that names a place in the page, without a fragment directive such as `:~:text=…`
 * (WICG "URL Fragment Text Directives"); '' for one that scripts read.
 *
 * @param hash the `hash` of a URL
 */
export function fragmentOf(hash: string): string {
  const fragment = hash.replace(/^#/, '').replace(/:~:.*$/s, '');
  return FOR_SCRIPTS.test(fragment) ? '' : fragment;
}

/** GitHub prefixes the ids of user content with this; its script also finds elements by the id without the prefix. */
const GITHUB_PREFIX = 'user-content-';
const isGitHub = (host: string): boolean => host === 'github.com' || host.endsWith('.github.com');

/**
 * Whether a fragment refers to a part of the page ("select the indicated part", HTML Standard section 7.4.6.4): to the
 * top, or to an anchor that equals the fragment, as it is or percent-decoded.
 *
 * @param fragment result of `fragmentOf`
 * @param host host name of the page
 */
export function hasFragment(anchors: Anchors, fragment: string, host: string): boolean {
  const decoded = percentDecode(fragment);
  return (
    fragment === '' ||
    anchors.has(fragment) ||
    anchors.has(decoded) ||
    decoded.toLowerCase() === 'top' ||
    (isGitHub(host) && anchors.has(GITHUB_PREFIX + decoded))
  );
}
