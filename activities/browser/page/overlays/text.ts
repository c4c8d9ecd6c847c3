/// <reference lib="dom" />
import type { OverlayPatterns } from '../../overlayWords.ts';

// These functions run in the page. They call each other by name, so names are unique across this folder.

/** Patterns for texts that `normalizeText` has normalized. */
export type Words = Readonly<Record<keyof OverlayPatterns, RegExp>>;

/** Lower case without diacritics and repeated spaces, for matching words. */
export function normalizeText(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[’‘]/g, "'")
    .replace(/\s+/g, ' ')
    .trim();
}

/** All descendants in document order, those in open shadow roots and same-origin frames included. */
export function nodesIn(root: Node): Node[] {
  const found: Node[] = [];
  const waiting: Node[] = [];
  const addChildren = (parent: Node | null | undefined): void => {
    for (let child = parent?.lastChild; child != null; child = child.previousSibling) waiting.push(child);
  };
  for (let node: Node | undefined = root; node !== undefined; node = waiting.pop()) {
    if (node !== root) found.push(node);
    addChildren(node);
    if (node instanceof HTMLIFrameElement) addChildren(node.contentDocument?.body);
    if (node instanceof Element) addChildren(node.shadowRoot);
  }
  return found;
}

/** By node type: elements of another frame are not instances of this frame's `Element`. */
export function isElement(node: Node): node is Element {
  return node.nodeType === Node.ELEMENT_NODE;
}

export function elementsIn(root: Node): Element[] {
  return nodesIn(root).filter(isElement);
}

/** Parent element, or the host of its shadow root. */
export function parentOf(element: Element): Element | null {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

/** Text of an element without that of its descendants. */
export function ownText(element: Element): string {
  return [...element.childNodes]
    .filter((node) => node.nodeType === Node.TEXT_NODE)
    .map((node) => node.textContent ?? '')
    .join(' ')
    .trim();
}

/** Parent of a visible text node; null for any other node. */
export function visibleParentOf(node: Node): Element | null {
  if (node.nodeType !== Node.TEXT_NODE || (node.textContent ?? '').trim() === '') return null;
  const root = node.getRootNode();
  const place = node.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  return place?.matches('textarea, option') || !place?.checkVisibility() ? null : place;
}

/** Visible text nodes of an element, each with its parent. */
export function visibleTextsOf(root: Element): { text: string; of: Element }[] {
  return nodesIn(root).flatMap((node) => {
    const of = visibleParentOf(node);
    return of === null ? [] : { text: (node.textContent ?? '').replace(/\s+/g, ' ').trim(), of };
  });
}

/** Visible text of an element. */
export function visibleTextOf(root: Element): string {
  return visibleTextsOf(root)
    .map(({ text }) => text)
    .join(' ');
}

/**
 * Normalized sentences of an element, without controls, form fields, lists and tables. A link within a sentence is
 * included.
 *
 * @param titles whether headings are included
 */
export function proseOf(root: Element, titles: boolean): string {
  const APART = 'button, [role="button"], [role="tab"], label, li, nav, th, td, select, summary';
  const shown = visibleTextsOf(root).filter(({ of }) => {
    const apart = of.closest(titles ? APART : `${APART}, h1, h2, h3, h4, h5, h6, [role="heading"]`);
    if (apart !== null && !apart.contains(root)) return false;
    const link = of.closest('a');
    if (link === null || link.contains(root)) return true;
    return link.parentElement !== null && ownText(link.parentElement).length >= 12;
  });
  return normalizeText(shown.map(({ text }) => text).join(' '));
}

/** Ids and classes of an element and its children. */
export function nameOf(element: Element): string {
  return [element, ...element.children]
    .map((each) => `${each.id} ${each.getAttribute('class') ?? ''}`)
    .join(' ');
}
