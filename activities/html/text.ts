import { type ChildNode, type Element, isTag, isText, type ParentNode } from 'domhandler';
import { createLines, type Lines } from './lines.ts';
import type { LoadedPage } from './load.ts';
import { readSheets, type Sheets } from './sheets.ts';
import { isRawText, lookOf, shownChildren } from './visibility.ts';
import { cutText } from './words.ts';

const PREFORMATTED = new Set(['listing', 'plaintext', 'pre', 'textarea', 'xmp']);
const CELLS = new Set(['td', 'th']);
/** MathML shows its tokens apart from each other. */
const TOKENS = new Set(['mi', 'mn', 'mo', 'ms', 'mtext']);

interface Setting {
  preformatted: boolean;
  visible: boolean;
  sheets: Sheets | null;
}

function walkElement(element: Element, outer: Setting, lines: Lines): void {
  const { name } = element;
  const look = lookOf(element, outer.sheets);
  if (!look.shown) return;
  if (name === 'br') lines.breakLine();
  const inner = {
    preformatted: outer.preformatted || PREFORMATTED.has(name),
    visible: look.visible ?? outer.visible,
    sheets: outer.sheets,
  };
  const apart = (): void => {
    if (look.block) lines.separate(name === 'p' ? 2 : 1);
    else if (CELLS.has(name)) lines.space('\t');
    else if (TOKENS.has(name)) lines.space(' ');
  };
  apart();
  walk(shownChildren(element), inner, lines);
  apart();
}

function walk(nodes: readonly ChildNode[], setting: Setting, lines: Lines): void {
  for (const node of nodes) {
    if (!lines.wantsMore()) return;
    if (isTag(node)) walkElement(node, setting, lines);
    else if (isText(node) && setting.visible) {
      if (setting.preformatted) lines.addPreformatted(node.data);
      else lines.add(node.data);
    }
  }
}

function isPreformatted(element: Element): boolean {
  for (let node: ParentNode | null = element; node !== null; node = node.parent)
    if (isTag(node) && PREFORMATTED.has(node.name)) return true;
  return false;
}

function rawText(nodes: readonly ChildNode[], lines: Lines): void {
  for (const node of nodes) {
    if (isText(node)) lines.addPreformatted(node.data);
    else if ('children' in node) rawText(node.children, lines);
  }
}

/**
 * The text of a page as its reader sees it, as near to `document.body.innerText` as can be with the style sheets alone
 * that it holds itself.
 */
export function pageText({ $ }: LoadedPage): string {
  const lines = createLines();
  const nodes = $.root()
    .toArray()
    .flatMap(({ children }) => children);
  walk(nodes, { preformatted: false, visible: true, sheets: readSheets($) }, lines);
  return lines.toString();
}

/**
 * The text of one element in the same way, but without style sheets, also when it is hidden itself; of one whose text is
 * never shown, such as `title` or `script`, that text.
 *
 * @param limit code points
 */
export function elementText(element: Element, limit: number): string {
  // A code point is up to two characters.
  const lines = createLines(2 * limit);
  if (isRawText(element)) rawText(element.children, lines);
  else walk(element.children, { preformatted: isPreformatted(element), visible: true, sheets: null }, lines);
  return cutText(lines.toString().trim(), limit);
}
