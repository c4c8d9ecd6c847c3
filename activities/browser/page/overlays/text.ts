/// <reference lib="dom" />
import type { OverlayPatterns } from '../../overlayPatterns.ts';

// These run in the page, where they know each other by their names.

/** What to look for in texts that `plain` has been at. */
export type Words = Readonly<Record<keyof OverlayPatterns, RegExp>>;

/** A text as words are looked for in it: small letters without marks, however they are written. */
export function plain(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[’‘]/g, "'")
    .replace(/\s+/g, ' ')
    .trim();
}

/** Everything under a root in the order of the document, with open shadows and frames that can be looked into. */
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

/** Of another frame none is an instance of this one's `Element`. */
export function isElement(node: Node): node is Element {
  return node.nodeType === Node.ELEMENT_NODE;
}

export function everythingIn(root: Node): Element[] {
  return nodesIn(root).filter(isElement);
}

/** What an element lies in, out of its shadow too. */
export function parentOf(element: Element): Element | null {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

/** The text that lies in an element itself, and in nothing within it. */
export function ownText(element: Element): string {
  return [...element.childNodes]
    .filter((node) => node.nodeType === Node.TEXT_NODE)
    .map((node) => node.textContent ?? '')
    .join(' ')
    .trim();
}

/** The element in which a piece of text is to be seen, or null where it is not. */
export function placeOf(node: Node): Element | null {
  if (node.nodeType !== Node.TEXT_NODE || (node.textContent ?? '').trim() === '') return null;
  const root = node.getRootNode();
  const place = node.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  return place?.matches('textarea, option') || !place?.checkVisibility() ? null : place;
}

/** The pieces of text that are to be seen in an element, each with where it lies. */
export function textsOf(root: Element): { text: string; of: Element }[] {
  return nodesIn(root).flatMap((node) => {
    const of = placeOf(node);
    return of === null ? [] : { text: (node.textContent ?? '').replace(/\s+/g, ' ').trim(), of };
  });
}

/** All that is to be read in an element. */
export function textOf(root: Element): string {
  return textsOf(root)
    .map(({ text }) => text)
    .join(' ');
}

/**
 * The sentences of an element: what is neither to be pressed nor followed nor filled in nor listed. A link amid a sentence
 * is part of it.
 *
 * @param titles whether headings count as well
 */
export function saidIn(root: Element, titles: boolean): string {
  const APART = 'button, [role="button"], [role="tab"], label, li, nav, th, td, select, summary';
  const spoken = textsOf(root).filter(({ of }) => {
    const apart = of.closest(titles ? APART : `${APART}, h1, h2, h3, h4, h5, h6, [role="heading"]`);
    if (apart !== null && !apart.contains(root)) return false;
    const link = of.closest('a');
    if (link === null || link.contains(root)) return true;
    return link.parentElement !== null && ownText(link.parentElement).length >= 12;
  });
  return plain(spoken.map(({ text }) => text).join(' '));
}

/** The names of an element and of what lies right within it. */
export function nameOf(element: Element): string {
  return [element, ...element.children]
    .map((each) => `${each.id} ${each.getAttribute('class') ?? ''}`)
    .join(' ');
}
