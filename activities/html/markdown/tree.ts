import { type ChildNode, type Element, isTag, isText, type Text } from 'domhandler';
import type { BlockContent, List, ListItem, PhrasingContent, RootContent, Table, TableCell } from 'mdast';
import { resolveUrl } from '../urls.ts';
import { cellContent } from './cellContent.ts';
import { codeLanguage, codeText, findCodeTable, isCodeBlock } from './code.ts';
import { createElementReader, depthOf, isDropped } from './elements.ts';
import { hasNoscriptImage, imageUrl, isPixel, noscriptImage } from './images.ts';
import { isAnchor, isBetween, linkOfAll, linkTitle } from './links.ts';
import { isRenderedTex } from './math.ts';
import './mathNodes.ts';
import { isBlank, joinSpaces, mark, oneLine, paragraph, paragraphs, textNodes } from './phrasing.ts';
import { readTable } from './table.ts';
import { isQuillList, taskState } from './tasks.ts';

interface TreeOptions {
  /** URL against which those of links and images are resolved. */
  base: string;
  /** Whether a text belongs to the content. */
  keeps: (text: Text) => boolean;
  /** Number of code points of Markdown after which the rest of the nodes is not read. */
  limit: number;
}

/** Quotations and lists inside each other beyond this depth are written without their own marks. */
const MAX_NESTING = 12;
/** Elements that are more than containers of blocks. */
const MARKED = new Set(
  'h1 h2 h3 h4 h5 h6 p pre listing xmp hr ul ol menu dir blockquote table dt summary a code'.split(' '),
);
const LINES_KEPT = /white-space:\s*(?:pre|break-spaces)/;
const LINES_JOINED = /white-space:\s*(?:normal|nowrap)/;
const SPACE = /[\t\n\f\r ]+/g;

interface State {
  nesting: number;
  inLink: boolean;
  inHeading: boolean;
  strong: boolean;
  emphasis: boolean;
  deleted: boolean;
  /** Whether line breaks of the source are shown. */
  keepsLines: boolean;
  /** Whether nodes are read beyond the limit, because what follows changes what precedes it. */
  whole: boolean;
}

const OUTSIDE: State = {
  nesting: 0,
  inLink: false,
  inHeading: false,
  strong: false,
  emphasis: false,
  deleted: false,
  keepsLines: false,
  whole: false,
};

/** Returns the state inside an element. */
function inside({ attribs: { style = '' } }: Element, state: State): State {
  if (LINES_KEPT.test(style)) return { ...state, keepsLines: true };
  return LINES_JOINED.test(style) ? { ...state, keepsLines: false } : state;
}

/** Replaces `<`, which opens a tag where formulas are not known. */
const safeTex = (tex: string): string => tex.replaceAll('<', '\\lt ').replaceAll(/(?<!\\)\$/g, '');

/** Returns the number that an attribute has; null when it has none. */
const integerOf = (text = ''): number | null => {
  const number = Number.parseInt(text, 10);
  return Number.isFinite(number) ? number : null;
};

const isBlockContent = (node: RootContent): node is BlockContent =>
  /^(?:blockquote|code|heading|html|list|paragraph|table|thematicBreak|math)$/.test(node.type);

/** Removes what cannot stand in a list item or a quotation; nothing that this module makes is lost. */
const blocks = (nodes: readonly RootContent[]): BlockContent[] => nodes.filter(isBlockContent);

/** Creates a function that converts nodes of a page to a Markdown tree (mdast). */
export function createTreeReader({
  base,
  keeps,
  limit,
}: TreeOptions): (nodes: readonly ChildNode[]) => RootContent[] {
  /** Least number of code points of the Markdown of what has been read: that of its characters without outer space. */
  let written = 0;
  const count = (value: string): void => {
    if (written < limit) written += /[\ud800-\udfff]/.test(value) ? value.length / 2 : value.length;
  };
  const isEnough = ({ whole }: State): boolean => !whole && written >= limit;

  const { hasKept, hasRule, formulaOf, isBlock, hasTexBeside, servesPre, isBesideKept } =
    createElementReader(keeps);

  const addInline = (made: PhrasingContent[], element: Element, outer: State): void => {
    const { name, attribs } = element;
    const state = inside(element, outer);
    if (isRenderedTex(element) && hasTexBeside(element)) return;
    const formula = formulaOf(element);
    if (formula !== null) {
      if (hasKept(element) || name === 'script') made.push(mathNode(formula.tex));
      return;
    }
    const image = name === 'noscript' ? noscriptImage(element, base) : null;
    if (image !== null) made.push(...imageNodes(image, state));
    if (name === 'svg' && isBetween(element)) made.push({ type: 'text', value: ' ' });
    if (isDropped(element)) return;
    const addInside = (): void => addPhrasing(made, element.children, state);
    const addMarked = (
      change: Partial<State>,
      make: (children: PhrasingContent[]) => PhrasingContent,
    ): void => {
      made.push(...mark(phrasing(element.children, { ...state, ...change }), make));
    };
    switch (name) {
      case 'br':
        made.push({ type: 'break' });
        break;
      case 'img':
      case 'amp-img':
        made.push(...imageNodes(element, state));
        break;
      case 'a': {
        const url = attribs.href === undefined || state.inLink ? null : resolveUrl(attribs.href, base);
        if (isAnchor(element, state.inHeading)) break;
        if (url === null) addInside();
        else addMarked({ inLink: true }, (children) => ({ type: 'link', url: url.href, children }));
        break;
      }
      case 'b':
      case 'strong':
        if (state.strong || state.inHeading) addInside();
        else addMarked({ strong: true }, (children) => ({ type: 'strong', children }));
        break;
      case 'i':
      case 'em':
      case 'cite':
      case 'dfn':
      case 'var':
        if (state.emphasis) addInside();
        else addMarked({ emphasis: true }, (children) => ({ type: 'emphasis', children }));
        break;
      case 's':
      case 'strike':
      case 'del':
        if (state.deleted) addInside();
        else addMarked({ deleted: true }, (children) => ({ type: 'delete', children }));
        break;
      case 'q':
        made.push({ type: 'text', value: '“' });
        addInside();
        made.push({ type: 'text', value: '”' });
        break;
      case 'code':
      case 'kbd':
      case 'samp':
      case 'tt': {
        const value = codeText(element).replaceAll(SPACE, ' ').trim();
        if (value === '' || !hasKept(element)) break;
        count(value);
        const code: PhrasingContent = { type: 'inlineCode', value };
        const url = state.inLink ? null : resolveUrl(linkOfAll(element)?.attribs.href, base);
        made.push(url === null ? code : { type: 'link', url: url.href, children: [code] });
        break;
      }
      default:
        addInside();
    }
  };
  const mathNode = (tex: string): PhrasingContent => ({ type: 'inlineMath', value: safeTex(tex) });
  const imageNodes = (image: Element, state: State): PhrasingContent[] => {
    if (isPixel(image) || !isBesideKept(image)) return [];
    const alt = (image.attribs.alt ?? '').replaceAll(SPACE, ' ').trim();
    const url = imageUrl(image, base);
    if (url === null && hasNoscriptImage(image)) return [];
    if (url === null) return alt === '' ? [] : textNodes(alt);
    return state.inHeading && alt === '' ? [] : [{ type: 'image', url, alt }];
  };
  const addText = (made: PhrasingContent[], text: string): void => {
    const value = text.replaceAll(SPACE, ' ');
    count(value.trim());
    made.push(...textNodes(value));
  };
  const addPhrasing = (made: PhrasingContent[], nodes: readonly ChildNode[], state: State): void => {
    for (const node of nodes) {
      if (isText(node)) {
        if (keeps(node)) {
          for (const [index, line] of (state.keepsLines ? node.data.split('\n') : [node.data]).entries()) {
            if (index > 0) made.push({ type: 'break' });
            addText(made, line);
          }
        } else if (/\s/.test(node.data)) made.push({ type: 'text', value: ' ' });
      } else if (isTag(node) && !servesPre(node)) {
        const block = isBlock(node);
        // A block among inline content, as in a heading or a cell, begins a line.
        if (block && made.length > 0 && made.at(-1)?.type !== 'break') made.push({ type: 'break' });
        addInline(made, node, state);
        if (block && node.next !== null && made.at(-1)?.type !== 'break') made.push({ type: 'break' });
      }
    }
  };
  const phrasing = (nodes: readonly ChildNode[], state: State): PhrasingContent[] => {
    const made: PhrasingContent[] = [];
    addPhrasing(made, nodes, state);
    return joinSpaces(made);
  };

  const codeBlock = (element: Element): BlockContent[] => {
    const value = codeText(element);
    count(value.replaceAll(/\s+/g, ''));
    return value === '' ? [] : [{ type: 'code', lang: codeLanguage(element), value }];
  };

  const listItem = (element: Element, state: State): ListItem | null => {
    const children = blocks(flow(element.children, { ...state, nesting: state.nesting + 1 }));
    if (children.length === 0) return null;
    return { type: 'listItem', spread: false, checked: taskState(element), children };
  };
  const list = (element: Element, state: State): List[] => {
    const { attribs } = element;
    const ordered = element.name === 'ol' && !isQuillList(element);
    const step = 'reversed' in attribs ? -1 : 1;
    const entries = element.children.filter((it) => isTag(it) && it.name === 'li');
    let number = integerOf(attribs.start) ?? (step < 0 ? entries.length : 1);
    // The numbers of a list in Markdown follow each other, so that another number begins another list.
    const made: List[] = [];
    const add = (item: ListItem): void => {
      const last = made.at(-1);
      const start = ordered && number >= 0 && number < 1e9 ? number : null;
      if (last !== undefined && (start === null || start === (last.start ?? 1) + last.children.length))
        last.children.push(item);
      else made.push({ type: 'list', ordered, start, spread: false, children: [item] });
      number += step;
    };
    for (const child of element.children) {
      // An item that begins with a rule changes the marks of the whole list.
      if (isEnough(state) && !hasRule(element)) break;
      if (isTag(child) && child.name === 'li') {
        const item = listItem(child, state);
        number = integerOf(child.attribs.value) ?? number;
        if (item !== null) add(item);
        continue;
      }
      // Content directly inside a list, such as another list, belongs to the item before it.
      const nested = blocks(flow([child], state));
      if (nested.length === 0) continue;
      const before = made.at(-1)?.children.at(-1);
      if (before === undefined) add({ type: 'listItem', spread: false, children: nested });
      else before.children.push(...nested);
    }
    return made;
  };

  const cellOf = (element: Element | null): TableCell => ({
    type: 'tableCell',
    children:
      element === null
        ? []
        : cellContent(flow(element.children, { ...OUTSIDE, inHeading: element.name === 'th', whole: true })),
  });
  const table = (element: Element, state: State): RootContent[] => {
    if (!hasKept(element)) return [];
    // Highlighted code with its line numbers in a table.
    const pre = findCodeTable(element);
    if (pre !== null) return codeBlock(pre);
    const read = readTable(element);
    const captions = element.children.filter(isTag).filter(({ name }) => name === 'caption');
    const caption = captions.flatMap((it) => flow(it.children, state));
    if (read === null)
      return [
        ...caption,
        ...flow(
          element.children.filter((it) => !isTag(it) || it.name !== 'caption'),
          state,
        ),
      ];
    const { rows, hasHeader } = read;
    const width = rows[0]?.length ?? 0;
    const head = hasHeader ? [] : [Array.from({ length: width }, () => null)];
    const made: Table = {
      type: 'table',
      children: [...head, ...rows].map((cells) => ({ type: 'tableRow', children: cells.map(cellOf) })),
    };
    return [...caption, made];
  };

  const addBlock = (made: RootContent[], element: Element, state: State): void => {
    const { name } = element;
    const isPlain =
      formulaOf(element) === null &&
      !isRenderedTex(element) &&
      !isDropped(element) &&
      depthOf(element) === undefined;
    // Elements that only contain others, which may be nested deeply, add to the same list.
    if (isPlain && !MARKED.has(name)) addFlow(made, element.children, inside(element, state));
    else made.push(...blockElement(element, state));
  };
  const blockElement = (element: Element, outer: State): RootContent[] => {
    const { name } = element;
    const state = inside(element, outer);
    if (isRenderedTex(element) && hasTexBeside(element)) return [];
    const formula = formulaOf(element);
    if (formula !== null) {
      if (!hasKept(element)) return [];
      return formula.isDisplay
        ? [{ type: 'math', value: safeTex(formula.tex) }]
        : paragraph([mathNode(formula.tex)]);
    }
    if (isDropped(element)) return [];
    const depth = depthOf(element);
    if (depth !== undefined) {
      const children = oneLine(phrasing(element.children, { ...state, inHeading: true }));
      return isBlank(children) ? [] : [{ type: 'heading', depth, children }];
    }
    switch (name) {
      case 'p':
        return element.children.some((it) => isTag(it) && isBlock(it))
          ? flow(element.children, state)
          : paragraphs(phrasing(element.children, state));
      case 'code':
        return isCodeBlock(element) && hasKept(element) ? codeBlock(element) : flow(element.children, state);
      case 'pre':
      case 'listing':
      case 'xmp':
        return hasKept(element) ? codeBlock(element) : [];
      case 'hr':
        return [{ type: 'thematicBreak' }];
      case 'ul':
      case 'ol':
      case 'menu':
      case 'dir':
        return state.nesting >= MAX_NESTING ? flow(element.children, state) : list(element, state);
      case 'blockquote': {
        const children = blocks(flow(element.children, { ...state, nesting: state.nesting + 1 }));
        if (children.length === 0 || state.nesting >= MAX_NESTING) return children;
        return [{ type: 'blockquote', children }];
      }
      case 'table':
        return table(element, state);
      case 'dt':
      case 'summary':
        return flow(element.children, state).map((it) =>
          it.type === 'paragraph' && it.children.every(({ type }) => type === 'text')
            ? { type: 'paragraph', children: [{ type: 'strong', children: it.children }] }
            : it,
        );
      case 'a':
        return cardLink(element, state);
      default:
        return flow(element.children, state);
    }
  };
  /** Converts a link around blocks, such as a card: its first heading, or else its first paragraph, becomes the link. */
  const cardLink = (element: Element, state: State): RootContent[] => {
    const url = state.inLink ? null : resolveUrl(element.attribs.href, base);
    const made = flow(element.children, {
      ...state,
      inLink: state.inLink || url !== null,
      whole: state.whole || url !== null,
    });
    if (url === null) return made;
    linkTitle(made, url.href);
    return made;
  };

  /** Converts nodes among which there may be blocks. Inline content between blocks becomes paragraphs. */
  const flow = (nodes: readonly ChildNode[], state: State): RootContent[] => {
    const made: RootContent[] = [];
    addFlow(made, nodes, state);
    return made;
  };
  const addFlow = (made: RootContent[], nodes: readonly ChildNode[], state: State): void => {
    let line: ChildNode[] = [];
    const endLine = (): void => {
      if (line.length > 0) made.push(...paragraphs(phrasing(line, state)));
      line = [];
    };
    for (const node of nodes) {
      if (isTag(node) && servesPre(node)) continue;
      if (isTag(node) && isBlock(node)) {
        endLine();
        if (isEnough(state)) return;
        addBlock(made, node, state);
      } else line.push(node);
    }
    endLine();
  };
  return (nodes) => flow(nodes, OUTSIDE);
}
