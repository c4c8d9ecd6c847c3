/// <reference lib="dom" />
import { addStyles, elementsBelow, flatParentOf, shadowRootOf } from './elements.ts';

// Each function is sent to the page as source code and runs there on its own, with the functions of elements.ts only.

/**
 * Computed properties that `vh` and related units, percentages of the viewport's height, and media queries for it can
 * change. Those of insets are used values in pixels.
 */
export const LAYOUT = [
  'display position visibility float order flex-direction flex-wrap flex-basis align-self',
  'top left width height min-width min-height max-width max-height',
  'margin-top margin-right margin-bottom margin-left padding-top padding-right padding-bottom padding-left',
  'border-top-width border-bottom-width border-top-left-radius border-top-right-radius',
  'border-bottom-left-radius border-bottom-right-radius font-size line-height letter-spacing text-indent',
  'row-gap column-gap grid-template-columns grid-template-rows transform translate scale',
  'background-position background-size object-position clip-path stroke-width',
].join(' ');

/**
 * Keeps a page from changing when its scripts are stopped: media queries that match a pattern of names keep the answer that they have
 * now, and what browsers show without scripts stays hidden (HTML Standard: `noscript`, controls of videos).
 */
export function keepPresentation(names: string): void {
  addStyles('noscript{display:none!important}');
  addStyles('video:not([controls])::-webkit-media-controls{display:none!important}');
  const DEPENDS = new RegExp(`\\b(?:${names})\\b`, 'i');
  const answer = (query: string) => (matchMedia(query).matches ? 'all' : 'not all');
  const keep = (media: MediaList): void => {
    if (DEPENDS.test(media.mediaText)) media.mediaText = answer(media.mediaText);
  };
  const keepIn = (owner: CSSStyleSheet | CSSGroupingRule): void => {
    for (const rule of owner.cssRules) {
      if (rule instanceof CSSMediaRule || rule instanceof CSSImportRule) keep(rule.media);
      if (rule instanceof CSSImportRule && rule.styleSheet !== null) keepIn(rule.styleSheet);
      if (rule instanceof CSSGroupingRule) keepIn(rule);
    }
  };
  const elements = elementsBelow(document);
  const roots = [document, ...elements.flatMap((element) => shadowRootOf(element) ?? [])];
  for (const sheet of roots.flatMap((root) => [...root.styleSheets, ...root.adoptedStyleSheets]))
    try {
      keep(sheet.media);
      keepIn(sheet);
    } catch {
      // A sheet of another origin cannot be read.
    }
  for (const element of elements)
    if (element instanceof HTMLSourceElement && DEPENDS.test(element.media))
      element.media = answer(element.media);
}

/** Records how the elements of the page and their generated content are laid out, for `keepLayout`. */
export function recordLayout(names: string): void {
  const properties = names.split(' ');
  // A transition would show the page between two layouts.
  addStyles('*,::before,::after{transition:none!important}');
  const read = (element: Element, pseudo: string | null): string[] | null => {
    const style = getComputedStyle(element, pseudo);
    if (pseudo !== null && (style.content === 'none' || style.content === 'normal')) return null;
    return properties.map((name) => style.getPropertyValue(name));
  };
  const layout = [document.documentElement, ...elementsBelow(document.documentElement)].map((element) => ({
    element,
    styles: [null, '::before', '::after'].map((pseudo) => ({ pseudo, values: read(element, pseudo) })),
  }));
  Reflect.set(globalThis, 'captureLayout', layout);
}

/**
 * Gives the elements of the page the layout that `recordLayout` recorded, where it has changed since.
 *
 * @returns the number of elements that had changed
 */
export function keepLayout(names: string): number {
  const MARK = 'data-capture-layout';
  const properties = names.split(' ');
  const layout: { element: HTMLElement; styles: { pseudo: string | null; values: string[] | null }[] }[] =
    Reflect.get(globalThis, 'captureLayout') ?? [];
  /** Returns the declarations that restore an element. */
  const difference = (
    element: Element,
    pseudo: string | null,
    values: string[] | null,
  ): [string, string][] => {
    if (values === null) return [];
    const style = getComputedStyle(element, pseudo);
    const changed = properties.flatMap((name, index): [string, string][] => {
      const value = values[index] ?? '';
      return style.getPropertyValue(name) === value ? [] : [[name, value]];
    });
    const value = (name: string) => values[properties.indexOf(name)] ?? '';
    const placed = ['absolute', 'fixed', 'relative'].includes(value('position'));
    // An element that is placed from below has kept its distance from there, but its `top` has changed.
    if (!placed || !changed.some(([name]) => name === 'top')) return changed;
    return [...changed, ['bottom', 'auto'], ['height', value('height')]];
  };
  const changes = layout.flatMap(({ element, styles }) =>
    styles.flatMap(({ pseudo, values }) => {
      const declarations = difference(element, pseudo, values);
      return declarations.length === 0 ? [] : [{ element, pseudo, declarations }];
    }),
  );
  // A size that follows from the content is correct again once the content is restored. Setting it would keep margins from
  // collapsing through the element.
  const known: unknown = Reflect.get(globalThis, 'captureKept');
  // An element that was set in an earlier round and is still different depends on one around it.
  const kept = known instanceof WeakSet ? known : new WeakSet();
  Reflect.set(globalThis, 'captureKept', kept);
  const above = new Set<Element>();
  for (const { element, pseudo } of changes)
    for (
      let each = pseudo === null ? flatParentOf(element) : element;
      !kept.has(element) && each !== null && !above.has(each);
      each = flatParentOf(each)
    )
      above.add(each);
  const isDerived = (name: string) => /^(?:width|height|top|left|bottom|grid-template-.*)$/.test(name);
  const rules: string[] = [];
  for (const [index, { element, pseudo, declarations: all }] of changes.entries()) {
    const isAbove = pseudo === null && above.has(element);
    const declarations = isAbove ? all.filter(([name]) => !isDerived(name)) : all;
    if (!isAbove) kept.add(element);
    if (pseudo === null)
      for (const [name, value] of declarations) element.style.setProperty(name, value, 'important');
    else {
      const mark = element.getAttribute(MARK) ?? `${index}-${performance.now()}`;
      element.setAttribute(MARK, mark);
      const body = declarations.map(([name, value]) => `${name}:${value}!important`).join(';');
      rules.push(`[${MARK}="${mark}"]${pseudo}{${body}}`);
    }
  }
  if (rules.length > 0) addStyles(rules.join('\n'));
  return changes.length;
}

/**
 * Takes all effect from the page's rules for paged media, and makes the first printed page as large as the document.
 *
 * @param size width and height of the page in CSS pixels
 */
export function printOnOnePage(width: number, height: number): void {
  const NAME = 'capture-whole';
  const BREAKS = ['break-before', 'break-after', 'break-inside'];
  const BOXES = ['left-corner', 'left', 'center', 'right', 'right-corner'].flatMap((at) => [
    `top-${at}`,
    `bottom-${at}`,
  ]);
  const SIDES = ['top', 'middle', 'bottom'].flatMap((at) => [`left-${at}`, `right-${at}`]);
  const root = document.documentElement;
  const isMultiColumn = ({ columnCount, columnWidth }: CSSStyleDeclaration) =>
    columnCount !== 'auto' || columnWidth !== 'auto';
  const inColumns = new Set<Element>();
  for (const element of elementsBelow(root)) {
    const style = getComputedStyle(element);
    const parent = flatParentOf(element);
    if (parent !== null && (inColumns.has(parent) || isMultiColumn(getComputedStyle(parent))))
      inColumns.add(element);
    for (const name of [...BREAKS, 'page']) {
      const value = style.getPropertyValue(name);
      // Breaks between columns have the same effect on the screen.
      const isOfColumns = value.endsWith('column') || (value === 'avoid' && inColumns.has(element));
      if (value !== 'auto' && !isOfColumns) element.style.setProperty(name, 'auto', 'important');
    }
  }
  root.style.setProperty('page', NAME, 'important');
  // Chromium prints a page smaller whose content is wider than the paper. On the screen, that part is not in the picture.
  if (root.scrollWidth > width && document.body !== null) {
    const { left, right } = document.body.getBoundingClientRect();
    const clipped = {
      'overflow-x': 'clip',
      'overflow-y': 'visible',
      'overflow-clip-margin': `${Math.max(0, left, width - right)}px`,
    };
    root.style.setProperty('overflow', 'hidden', 'important');
    for (const [name, value] of Object.entries(clipped))
      document.body.style.setProperty(name, value, 'important');
  }
  const removePageRules = (owner: CSSStyleSheet | CSSGroupingRule): void => {
    for (let index = owner.cssRules.length - 1; index >= 0; index--) {
      const rule = owner.cssRules[index];
      if (rule instanceof CSSPageRule) owner.deleteRule(index);
      else if (rule instanceof CSSGroupingRule) removePageRules(rule);
    }
  };
  for (const sheet of [...document.styleSheets, ...document.adoptedStyleSheets])
    try {
      removePageRules(sheet);
    } catch {
      // A sheet of another origin cannot be read. The rules below have precedence over most of its page rules.
    }
  const empty = [...BOXES, ...SIDES].map((box) => `@${box}{content:none!important}`).join('');
  const page = `size:${width}px ${height}px!important;margin:0!important;padding:0!important;border:0!important;page-orientation:upright!important;${empty}`;
  // A page rule with a name and a pseudo-class has precedence over all others (CSS Paged Media, section 4.3).
  addStyles(`@page ${NAME}{${page}}@page ${NAME}:first{${page}}`);
}
