/// <reference lib="dom" />
import type { OverlayPatterns } from '../../overlayWords.ts';
import { shadowRootOf } from '../elements.ts';

// These functions run in the page, where they are defined under their names and call each other. Names must therefore
// be unique in this folder.

/** Regular expressions for texts normalized by `normalizeText`. */
export type Words = Readonly<Record<keyof OverlayPatterns, RegExp>>;

/** Compiles regular expressions. @param json an `OverlayPatterns` object as JSON */
export function compileWords(json: string): Words {
  const patterns: OverlayPatterns = JSON.parse(json);
  const compile = (source: string) => new RegExp(source, 'u');
  return {
    cookie: compile(patterns.cookie),
    uses: compile(patterns.uses),
    privacy: compile(patterns.privacy),
    accept: compile(patterns.accept),
    reject: compile(patterns.reject),
    manage: compile(patterns.manage),
    proceed: compile(patterns.proceed),
    close: compile(patterns.close),
    promotion: compile(patterns.promotion),
  };
}

/** Returns a text in lower case, without diacritics and repeated spaces, so that words can be matched. */
export function normalizeText(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[’‘]/g, "'")
    .replace(/\s+/g, ' ')
    .trim();
}

/** Returns all descendants of a node as they are rendered: with shadow roots, what is in their slots, and same-origin frames. */
export function nodesIn(root: Node): Node[] {
  const found: Node[] = [];
  const waiting: Node[] = [];
  const addChildren = (parent: Node | null | undefined): void => {
    for (let child = parent?.lastChild; child != null; child = child.previousSibling) waiting.push(child);
  };
  for (let node: Node | undefined = root; node !== undefined; node = waiting.pop()) {
    if (node !== root) found.push(node);
    const assigned = node instanceof HTMLSlotElement ? node.assignedNodes() : [];
    waiting.push(...assigned.toReversed());
    if (assigned.length === 0) addChildren((node instanceof Element ? shadowRootOf(node) : null) ?? node);
    if (node instanceof HTMLIFrameElement) addChildren(node.contentDocument?.body);
  }
  return found;
}

/**
 * Whether a node is an element. Compares the node type, because elements of another frame are not instances of this
 * frame's `Element`.
 */
export function isElement(node: Node): node is Element {
  return node.nodeType === Node.ELEMENT_NODE;
}

export function elementsIn(root: Node): Element[] {
  return nodesIn(root).filter(isElement);
}

/** Returns the parent element, or the host if the element is at the top of a shadow root; null for a root element. */
export function parentOf(element: Element): Element | null {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

/** Returns the text that is directly in an element, without the text of its descendant elements. */
export function ownText(element: Element): string {
  return [...element.childNodes]
    .filter((node) => node.nodeType === Node.TEXT_NODE)
    .map((node) => node.textContent ?? '')
    .join(' ')
    .trim();
}

/** Returns the parent element of a visible text node; null for any other node. */
export function visibleParentOf(node: Node): Element | null {
  if (node.nodeType !== Node.TEXT_NODE || (node.textContent ?? '').trim() === '') return null;
  const root = node.getRootNode();
  const place = node.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  return place?.matches('textarea, option') || !place?.checkVisibility() ? null : place;
}

/** Returns the text of each visible text node in an element, with the node's parent element. */
export function visibleTextsOf(root: Element): { text: string; of: Element }[] {
  return nodesIn(root).flatMap((node) => {
    const of = visibleParentOf(node);
    return of === null ? [] : { text: (node.textContent ?? '').replace(/\s+/g, ' ').trim(), of };
  });
}

export function visibleTextOf(root: Element): string {
  return visibleTextsOf(root)
    .map(({ text }) => text)
    .join(' ');
}

/**
 * Returns the normalized sentences of an element, without the text of controls, form fields, lists and tables. A link
 * within a sentence is included.
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

/** Returns the ids and classes of an element and its children, separated by spaces. */
export function nameOf(element: Element): string {
  return [element, ...element.children]
    .map((each) => `${each.id} ${each.getAttribute('class') ?? ''}`)
    .join(' ');
}
