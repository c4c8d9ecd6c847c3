import { type ChildNode, type Element, isTag, isText, type ParentNode, type Text } from 'domhandler';
import type { LoadedPage } from './load.ts';
import { parseHtml } from './parse.ts';
import { readStyleSheets, type StyleSheets } from './styleSheets.ts';
import { createTextBuilder, type TextBuilder } from './textBuilder.ts';
import { displayOf, isRawText, renderedChildren } from './visibility.ts';
import { truncateText } from './words.ts';

const PREFORMATTED = new Set(['listing', 'plaintext', 'pre', 'textarea', 'xmp']);
const CELLS = new Set(['td', 'th']);
/** MathML token elements, which browsers display with space between them. */
const TOKENS = new Set(['mi', 'mn', 'mo', 'ms', 'mtext']);

interface WalkState {
  preformatted: boolean;
  visible: boolean;
  /** Whether child elements are blocks because their parent is a flex or grid container. */
  blockified: boolean;
  sheets: StyleSheets | null;
  /** If not null, only these texts are walked, even if they are hidden. */
  only: ReadonlySet<Text> | null;
}

const START: WalkState = { preformatted: false, visible: true, blockified: false, sheets: null, only: null };

function walkElement(element: Element, outer: WalkState, builder: TextBuilder): void {
  const { name } = element;
  const display = displayOf(element, outer.sheets);
  if (!display.rendered && outer.only === null) return;
  if (name === 'br') builder.breakLine();
  const inner = {
    preformatted: outer.preformatted || PREFORMATTED.has(name),
    visible: display.visible ?? outer.visible,
    blockified: display.blockifies,
    sheets: outer.sheets,
    only: outer.only,
  };
  const separate = (): void => {
    if (display.block || outer.blockified) builder.separate(name === 'p' ? 2 : 1);
    else if (CELLS.has(name)) builder.space('\t');
    else if (TOKENS.has(name)) builder.space(' ');
  };
  separate();
  walk(outer.only === null ? renderedChildren(element) : element.children, inner, builder);
  separate();
}

function walk(nodes: readonly ChildNode[], state: WalkState, builder: TextBuilder): void {
  for (const node of nodes) {
    if (!builder.visitNode()) return;
    if (isTag(node)) walkElement(node, state, builder);
    else if (isText(node) && (state.only === null ? state.visible : state.only.has(node))) {
      if (state.preformatted) builder.addPreformatted(node.data);
      else builder.add(node.data);
    }
  }
}

/** Returns the text of a fragment of HTML, without regard to style sheets. */
export function htmlText(html: string): string {
  const builder = createTextBuilder();
  walk(parseHtml(html).children, START, builder);
  return builder.toString();
}

/** Returns the given texts of a page, with a line for each block. */
export function textOf({ $ }: LoadedPage, only: ReadonlySet<Text>): string {
  const builder = createTextBuilder();
  for (const { children } of $.root().toArray()) walk(children, { ...START, only }, builder);
  return builder.toString();
}

function isPreformatted(element: Element): boolean {
  for (let node: ParentNode | null = element; node !== null; node = node.parent)
    if (isTag(node) && PREFORMATTED.has(node.name)) return true;
  return false;
}

function addRawText(nodes: readonly ChildNode[], builder: TextBuilder): void {
  for (const node of nodes) {
    if (isText(node)) builder.addPreformatted(node.data);
    else if ('children' in node) addRawText(node.children, builder);
  }
}

/**
 * Returns the visible text of a page. Approximates `document.body.innerText`, using only the style sheets in the page's
 * `style` elements.
 */
export function pageText({ $, scopes }: LoadedPage): string {
  const builder = createTextBuilder();
  const nodes = $.root()
    .toArray()
    .flatMap(({ children }) => children);
  walk(nodes, { ...START, sheets: readStyleSheets($, scopes) }, builder);
  return builder.toString();
}

/**
 * Returns the text of one element, without regard to style sheets, and even if the element itself is hidden. For an
 * element whose content browsers never render as text, such as `title` or `script`, returns that content.
 *
 * @param limit maximum number of code points
 */
export function elementText(element: Element, limit: number): string {
  // The builder counts UTF-16 code units; a code point has one or two of them.
  const builder = createTextBuilder(2 * limit);
  if (isRawText(element)) addRawText(element.children, builder);
  else walk(element.children, { ...START, preformatted: isPreformatted(element) }, builder);
  return truncateText(builder.toString().trim(), limit);
}
