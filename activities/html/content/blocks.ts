import { type ChildNode, type Element, isTag, isText, type ParentNode, type Text } from 'domhandler';
import { displayOf } from '../visibility.ts';

/** An element of a page with the range of blocks that it contains. */
export interface Box {
  /** Position among all boxes, which are in document order. */
  index: number;
  element: Element;
  parent: Box | null;
  depth: number;
  /** Index of the first block inside; the last one is before `end`. */
  start: number;
  end: number;
  /** Number of images inside. */
  images: number;
  /** Tag and classes, equal for the items of a list that a template made. */
  signature: string;
  /** Number of siblings with the same signature, including this one. */
  repeats: number;
  /** Whether a style, an attribute or the tag hides the element. */
  hidden: boolean;
}

/** A piece of text without a block boundary inside, such as a paragraph, a heading or the text of a list item. */
export interface Block {
  /** The innermost element that contains all text of the block. */
  box: Box;
  text: string;
  nodes: Text[];
  /** Characters inside links. */
  linked: number;
  links: number;
}

/** Number of blocks after which the rest of a page is left out. A block takes about 1 KB while it is judged. */
const MAX_BLOCKS = 20_000;

/** Elements without text that a reader sees. */
const SKIPPED = new Set(
  'area audio base canvas datalist embed frame frameset head iframe link meta noembed noframes object param script select style svg template textarea title video'.split(
    ' ',
  ),
);
const CELLS = new Set(['td', 'th']);
/** Space between words of different inline elements. */
const SPACE = /[\s\u200b\ufeff]+/g;

const signatureOf = ({ name, attribs: { class: classes = '' } }: Element): string =>
  `${name} ${(/\d/.test(classes) ? classes.replaceAll(/\d+/g, '0') : classes).trim()}`;

const isHidden = ({ attribs }: Element): boolean => attribs['aria-hidden'] === 'true';

function common(a: Box, b: Box): Box {
  let [one, two] = [a, b];
  while (one !== two) {
    if (one.depth >= two.depth && one.parent !== null) one = one.parent;
    else if (two.parent !== null) two = two.parent;
    else return one;
  }
  return one;
}

/**
 * Divides a page into blocks of text, in document order. Hidden text is included, because scripts may show it.
 *
 * @returns the blocks, and all elements that contain any
 */
export function divide(root: ParentNode): { blocks: Block[]; boxes: Box[] } {
  const blocks: Block[] = [];
  const boxes: Box[] = [];
  let open: { box: Box; pieces: string[]; nodes: Text[]; linked: number; links: number } | null = null;
  let breaks = 0;
  let images = 0;

  const close = (): void => {
    if (open === null) return;
    const text = open.pieces.join('').replace(SPACE, ' ').trim();
    const { box, nodes, linked, links } = open;
    open = null;
    if (text !== '') blocks.push({ box, text, nodes, linked, links });
  };
  const addText = (node: Text, box: Box, inLink: boolean): void => {
    const isBlank = node.data.trim() === '';
    if (open === null) {
      if (isBlank) return;
      open = { box, pieces: [], nodes: [], linked: 0, links: 0 };
    }
    open.pieces.push(node.data);
    open.nodes.push(node);
    if (isBlank) return;
    breaks = 0;
    open.box = common(open.box, box);
    if (inLink) open.linked += node.data.trim().length;
  };
  const visitElement = (element: Element, parent: Box | null, inLink: boolean): void => {
    const { name } = element;
    if (name === 'img') images++;
    // A `noscript` with elements was expanded; any other has only the text of its markup.
    if (SKIPPED.has(name) || (name === 'noscript' && !element.children.some(isTag))) return;
    if (name === 'br') {
      breaks++;
      if (breaks > 1) close();
      else open?.pieces.push(' ');
      return;
    }
    const { block, rendered, visible } = displayOf(element, null);
    const box: Box = {
      index: boxes.length,
      element,
      parent,
      depth: (parent?.depth ?? -1) + 1,
      start: 0,
      end: 0,
      images,
      signature: signatureOf(element),
      repeats: 1,
      hidden:
        (parent?.hidden ?? false) ||
        (!rendered && name !== 'noscript') ||
        visible === false ||
        isHidden(element),
    };
    const separate = block || CELLS.has(name);
    if (separate) close();
    box.start = blocks.length;
    const at = boxes.push(box) - 1;
    if (name === 'a' && open !== null) open.links++;
    visit(element.children, box, inLink || name === 'a');
    if (separate) close();
    // An inline element inside an open block belongs to that block.
    box.end = blocks.length + (open === null ? 0 : 1);
    box.images = images - box.images;
    if (box.end === box.start) boxes.length = at;
    if (name === 'a' && separate === false && open?.links === 0) open.links = 1;
  };
  const visit = (nodes: readonly ChildNode[], box: Box | null, inLink: boolean): void => {
    for (const node of nodes) {
      if (blocks.length >= MAX_BLOCKS) return;
      if (isTag(node)) visitElement(node, box, inLink);
      else if (isText(node) && box !== null) addText(node, box, inLink);
    }
  };
  visit(root.children, null, false);
  close();
  countRepeats(boxes);
  return { blocks, boxes };
}

function countRepeats(boxes: readonly Box[]): void {
  const families = Map.groupBy(boxes, ({ parent }) => parent);
  for (const siblings of families.values())
    for (const alike of Map.groupBy(siblings, ({ signature }) => signature).values())
      for (const box of alike) box.repeats = alike.length;
}
