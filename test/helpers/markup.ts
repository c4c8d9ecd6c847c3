import type { ExecutionContext } from 'ava';
import { type DefaultTreeAdapterMap, parse } from 'parse5';

/** A node of an HTML page parsed with parse5. */
type Node = DefaultTreeAdapterMap['node'];
export type Element = DefaultTreeAdapterMap['element'];

export function elementsOf(node: Node): Element[] {
  const below = 'childNodes' in node ? node.childNodes.flatMap(elementsOf) : [];
  return 'tagName' in node ? [node, ...below] : below;
}

export const attribute = ({ attrs }: Element, name: string): string | undefined =>
  attrs.find((it) => it.name === name)?.value;

export const textOf = (node: Node): string =>
  'value' in node ? node.value : 'childNodes' in node ? node.childNodes.map(textOf).join('') : '';

/** Returns the text of the page's `main` element, with single spaces between words. */
export function mainText(elements: readonly Element[]): string {
  const main = elements.find(({ tagName }) => tagName === 'main');
  return main === undefined ? '' : textOf(main).replaceAll(/\s+/g, ' ').trim();
}

/** Returns the names of all elements and attributes, so that pages can be compared without their text. */
export const shape = (elements: readonly Element[]): string[] =>
  elements.map(({ tagName, attrs }) => [tagName, ...attrs.map(({ name }) => name)].join(' '));

export const linksOf = (elements: readonly Element[]): string[] =>
  elements.flatMap((element) => attribute(element, 'href') ?? []);

export const CSP =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/**
 * Parses the page in a response. Asserts that its HTML is valid and contains no inline scripts or styles. Returns its
 * elements.
 */
export async function pageOf(t: ExecutionContext, response: Response): Promise<Element[]> {
  t.is(response.headers.get('content-type'), 'text/html; charset=utf-8');
  t.is(response.headers.get('cache-control'), 'no-store');
  t.is(response.headers.get('content-security-policy'), CSP);
  const faults: string[] = [];
  const onParseError = ({ code, startLine }: { code: string; startLine: number }) =>
    faults.push(`${code} in line ${startLine}`);
  const elements = elementsOf(parse(await response.text(), { onParseError }));
  t.deepEqual(faults, []);
  t.false(elements.some(({ tagName }) => tagName === 'style'));
  for (const script of elements.filter(({ tagName }) => tagName === 'script')) {
    t.is(textOf(script), '');
    t.is(attribute(script, 'src'), '/dashboard/dashboard.js');
  }
  const names = elements.flatMap(({ attrs }) => attrs.map(({ name }) => name));
  t.deepEqual(
    names.filter((name) => name === 'style' || name.startsWith('on')),
    [],
  );
  const ids = elements.flatMap((element) => attribute(element, 'id') ?? []);
  t.is(new Set(ids).size, ids.length);
  for (const element of elements.filter(({ tagName }) => tagName === 'label'))
    t.true(ids.includes(attribute(element, 'for') ?? ''));
  return elements;
}

/** Strings that would become markup if a page did not escape them. */
export const HOSTILE = [
  '"><script>alert(1)</script>',
  '" autofocus onfocus="alert(1)',
  "' onfocus='alert(1)",
  '</title></form><img src=x onerror=alert(1)>',
  '<!--',
  '&quot;&lt;&#60;',
  'ünï\u{1f600}',
];

/** Returns the first element with an attribute of this value. */
export const find = (elements: readonly Element[], name: string, value: string): Element | undefined =>
  elements.find((element) => attribute(element, name) === value);

/** Returns the links within the page that have no target. */
export const brokenAnchors = (elements: readonly Element[]): string[] =>
  linksOf(elements).filter(
    (href) => href.startsWith('#') && find(elements, 'id', href.slice(1)) === undefined,
  );

/** Returns the value of the form field with this name; '' if there is none. */
export const fieldValue = (elements: readonly Element[], name: string): string => {
  const field = find(elements, 'name', name);
  return (field && attribute(field, 'value')) ?? '';
};

/** Returns the text of each table row except the first, which is the head. */
export const rowsOf = (elements: readonly Element[]): string[] =>
  elements
    .filter(({ tagName }) => tagName === 'tr')
    .slice(1)
    .map((row) => textOf(row).replaceAll(/\s+/g, ' ').trim());
