import { type Element, isTag, isText, type ParentNode, type Text } from 'domhandler';
import { remember } from '../remember.ts';
import { displayOf } from '../visibility.ts';
import { isCodeBlock, servesCode } from './code.ts';
import { readFormula } from './math.ts';

/** Elements without content for a reader of text. */
const DROPPED = new Set(
  'area audio base canvas datalist embed frame frameset head iframe input link meta noembed noframes object param script select style svg template textarea title video rp'.split(
    ' ',
  ),
);
/** A `noscript` with elements was expanded; any other has only the text of its markup. */
export const isDropped = ({ name, children }: Element): boolean =>
  DROPPED.has(name) || (name === 'noscript' && !children.some(isTag));

const HEADING = /^h([1-6])$/;
const DEPTHS = [1, 2, 3, 4, 5, 6] as const;
/** The depth of a heading without its own (WAI-ARIA, role heading). */
const ARIA_DEPTH = 2;

/** Returns the depth of a heading; undefined for other elements. */
export function depthOf({ name, attribs }: Element): (typeof DEPTHS)[number] | undefined {
  const isHeading = attribs.role === 'heading' && /^(?:div|p|span)$/.test(name);
  const level = HEADING.exec(name)?.[1] ?? (isHeading ? attribs['aria-level'] : null);
  return level === null ? undefined : (DEPTHS.find((depth) => String(depth) === level) ?? ARIA_DEPTH);
}

/** Cells are blocks in a table that only arranges. */
const isOwnBlock = (element: Element): boolean =>
  displayOf(element, null).block ||
  /^t[dh]$/.test(element.name) ||
  depthOf(element) !== undefined ||
  isCodeBlock(element);

/** Creates functions that tell of an element what its content says, each of which is computed once. */
export function createElementReader(keeps: (text: Text) => boolean) {
  /** Whether an element contains text that is kept. */
  const hasKept: (element: Element) => boolean = remember(({ children }) =>
    children.some((child) =>
      isText(child) ? child.data.trim() !== '' && keeps(child) : isTag(child) && hasKept(child),
    ),
  );
  const hasRule: (element: Element) => boolean = remember(({ children }) =>
    children.some((child) => isTag(child) && (child.name === 'hr' || hasRule(child))),
  );
  const hasText: (element: Element) => boolean = remember(({ children }) =>
    children.some((child) =>
      isText(child) ? child.data.trim() !== '' : isTag(child) && !isDropped(child) && hasText(child),
    ),
  );
  const formulaOf = remember(readFormula);
  /** Whether an element is a block or contains one. */
  const isBlock: (element: Element) => boolean = remember((element) => {
    const formula = formulaOf(element);
    if (formula !== null) return formula.isDisplay;
    return (
      !isDropped(element) &&
      (isOwnBlock(element) || element.children.some((child) => isTag(child) && isBlock(child)))
    );
  });
  const hasTex = remember(({ children }: ParentNode) =>
    children.some((it) => isTag(it) && it.name === 'script' && readFormula(it) !== null),
  );
  const hasPre = remember(({ children }: ParentNode) =>
    children.some((it) => isTag(it) && it.name === 'pre'),
  );
  return {
    hasKept,
    hasRule,
    formulaOf,
    isBlock,
    /** Whether TeX in a `script` follows or precedes what MathJax made of it. */
    hasTexBeside: ({ parent }: Element): boolean => parent !== null && hasTex(parent),
    /** Whether an element only serves a block of code beside it. */
    servesPre: (element: Element): boolean =>
      element.parent !== null && hasPre(element.parent) && servesCode(element),
    /** Whether the innermost element around an image that has text has text that is kept. */
    isBesideKept(image: Element): boolean {
      for (let at = image.parent; at !== null && isTag(at); at = at.parent)
        if (hasText(at)) return hasKept(at);
      return true;
    },
  };
}
