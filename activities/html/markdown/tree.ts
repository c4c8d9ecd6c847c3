import { type ChildNode, type Element, isTag, isText, type ParentNode, type Text } from 'domhandler';
import type {
  BlockContent,
  List,
  ListItem,
  Paragraph,
  PhrasingContent,
  RootContent,
  Table,
  TableCell,
} from 'mdast';
import { resolveUrl } from '../urls.ts';
import { displayOf } from '../visibility.ts';
import { codeLanguage, codeText } from './code.ts';
import { imageUrl, isPixel } from './images.ts';
import { isRenderedTex, readFormula } from './math.ts';
import './mathNodes.ts';
import { readTable } from './table.ts';

export interface TreeOptions {
  /** URL against which those of links and images are resolved. */
  base: string;
  /** Whether a text belongs to the content. */
  keeps: (text: Text) => boolean;
  /** Number of code points of Markdown after which the rest of the nodes is not read. */
  limit: number;
}

/** Elements without content for a reader of text. */
const DROPPED = new Set(
  'area audio base canvas datalist embed frame frameset head iframe input link meta noembed noframes object param script select style svg template textarea title video rp'.split(
    ' ',
  ),
);
/** A `noscript` with elements was expanded; any other has only the text of its markup. */
const isDropped = ({ name, children }: Element): boolean =>
  DROPPED.has(name) || (name === 'noscript' && !children.some(isTag));
/** Quotations and lists inside each other beyond this depth are written without their own marks. */
const MAX_NESTING = 12;
/** Longest text of one node. Escaping takes more than linear time in the length of a node. */
const MAX_TEXT = 1000;
const HEADING = /^h([1-6])$/;
/** Elements that are more than containers of blocks. */
const MARKED = new Set(
  'h1 h2 h3 h4 h5 h6 p pre listing xmp hr ul ol menu dir blockquote table dt summary a'.split(' '),
);
/** Texts of links by which headings link to themselves. */
const ANCHOR_TEXT = /^[#¶§🔗∞]?$/u;

const SPACE = /[\t\n\f\r ]+/g;

/** Whether an element is a block or contains one, by element; filled while reading. */
type Shapes = Map<Element, boolean>;

interface State {
  nesting: number;
  inLink: boolean;
  inHeading: boolean;
  strong: boolean;
  emphasis: boolean;
  deleted: boolean;
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
  whole: false,
};

const isBlank = (nodes: readonly PhrasingContent[]): boolean =>
  nodes.every((node) => node.type === 'break' || (node.type === 'text' && node.value.trim() === ''));

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

  const shapes: Shapes = new Map();
  const holds = new Map<Element, boolean>();

  /** Whether an element contains text that is kept. */
  const hasKept = (element: Element): boolean => {
    const known = holds.get(element);
    if (known !== undefined) return known;
    const found = element.children.some((child) =>
      isText(child) ? child.data.trim() !== '' && keeps(child) : isTag(child) && hasKept(child),
    );
    holds.set(element, found);
    return found;
  };
  const texts = new Map<Element, boolean>();
  const rules = new Map<Element, boolean>();
  const hasRule = (element: Element): boolean => {
    const known = rules.get(element);
    if (known !== undefined) return known;
    const found = element.children.some((child) => isTag(child) && (child.name === 'hr' || hasRule(child)));
    rules.set(element, found);
    return found;
  };
  const hasText = (element: Element): boolean => {
    const known = texts.get(element);
    if (known !== undefined) return known;
    const found = element.children.some((child) =>
      isText(child) ? child.data.trim() !== '' : isTag(child) && !isDropped(child) && hasText(child),
    );
    texts.set(element, found);
    return found;
  };
  const isBlock = (element: Element): boolean => {
    const known = shapes.get(element);
    if (known !== undefined) return known;
    const formula = readFormulaOf(element);
    const found =
      formula === null
        ? !isDropped(element) &&
          (displayOf(element, null).block || element.children.some((child) => isTag(child) && isBlock(child)))
        : formula.isDisplay;
    shapes.set(element, found);
    return found;
  };
  const formulas = new Map<Element, ReturnType<typeof readFormula>>();
  const readFormulaOf = (element: Element): ReturnType<typeof readFormula> => {
    const known = formulas.get(element);
    if (known !== undefined) return known;
    const made = readFormula(element);
    formulas.set(element, made);
    return made;
  };

  const withTex = new Map<ParentNode, boolean>();
  /** Whether TeX in a `script` follows or precedes what MathJax made of it. */
  const hasTexBeside = ({ parent }: Element): boolean => {
    if (parent === null) return false;
    const known = withTex.get(parent);
    if (known !== undefined) return known;
    const found = parent.children.some((it) => isTag(it) && it.name === 'script' && readFormula(it) !== null);
    withTex.set(parent, found);
    return found;
  };
  const textNodes = (value: string): PhrasingContent[] => {
    const made: PhrasingContent[] = [];
    for (let at = 0; at < value.length; ) {
      let end = Math.min(value.length, at + MAX_TEXT);
      if (end < value.length) end = Math.max(value.lastIndexOf(' ', end), at + MAX_TEXT / 2);
      made.push({ type: 'text', value: value.slice(at, end) });
      at = end;
    }
    return made;
  };

  /** Moves the space at the ends of marked text out of it, where Markdown needs it. */
  const marked = (
    children: PhrasingContent[],
    make: (children: PhrasingContent[]) => PhrasingContent,
  ): PhrasingContent[] => {
    const inner = trim(children);
    if (isBlank(inner.children)) return children;
    return [
      ...(inner.before ? [{ type: 'text' as const, value: ' ' }] : []),
      make(inner.children),
      ...(inner.after ? [{ type: 'text' as const, value: ' ' }] : []),
    ];
  };

  const addInline = (made: PhrasingContent[], element: Element, state: State): void => {
    const { name, attribs } = element;
    const formula = readFormulaOf(element);
    if (formula !== null) {
      if (hasKept(element) || name === 'script') made.push(mathNode(formula.tex));
      return;
    }
    if (isDropped(element) || (isRenderedTex(element) && hasTexBeside(element))) return;
    const addInside = (): void => addPhrasing(made, element.children, state);
    const addMarked = (
      change: Partial<State>,
      make: (children: PhrasingContent[]) => PhrasingContent,
    ): void => {
      made.push(...marked(phrasing(element.children, { ...state, ...change }), make));
    };
    switch (name) {
      case 'br':
        made.push({ type: 'break' });
        break;
      case 'img':
        made.push(...imageNodes(element, state));
        break;
      case 'a': {
        const url = attribs.href === undefined || state.inLink ? null : resolveUrl(attribs.href, base);
        if (state.inHeading && isAnchor(element)) break;
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
        made.push({ type: 'inlineCode', value });
        break;
      }
      default:
        addInside();
    }
  };
  const mathNode = (tex: string): PhrasingContent => ({ type: 'inlineMath', value: safeTex(tex) });
  /** Whether the innermost element around an image that has text has text that is kept. */
  const isBesideKept = (image: Element): boolean => {
    for (let at = image.parent; at !== null && isTag(at); at = at.parent) if (hasText(at)) return hasKept(at);
    return true;
  };
  const imageNodes = (image: Element, state: State): PhrasingContent[] => {
    if (isPixel(image) || !isBesideKept(image)) return [];
    const alt = (image.attribs.alt ?? '').replaceAll(SPACE, ' ').trim();
    const url = imageUrl(image, base);
    if (url === null) return alt === '' ? [] : textNodes(alt);
    return state.inHeading && alt === '' ? [] : [{ type: 'image', url, alt }];
  };
  const addPhrasing = (made: PhrasingContent[], nodes: readonly ChildNode[], state: State): void => {
    for (const node of nodes) {
      if (isText(node)) {
        if (keeps(node)) {
          const value = node.data.replaceAll(SPACE, ' ');
          count(value.trim());
          made.push(...textNodes(value));
        } else if (/\s/.test(node.data)) made.push({ type: 'text', value: ' ' });
      } else if (isTag(node)) {
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

  const paragraph = (children: readonly PhrasingContent[]): Paragraph[] => {
    const inner = trim(children).children;
    return isBlank(inner) ? [] : [{ type: 'paragraph', children: inner }];
  };

  const codeBlock = (element: Element): BlockContent[] => {
    const value = codeText(element);
    count(value.replaceAll(/\s+/g, ''));
    return value === '' ? [] : [{ type: 'code', lang: codeLanguage(element), value }];
  };

  const listItem = (element: Element, state: State): ListItem | null => {
    const children = blocks(flow(element.children, { ...state, nesting: state.nesting + 1 }));
    if (children.length === 0) return null;
    const box = taskBox(element);
    return {
      type: 'listItem',
      spread: false,
      checked: box === null ? null : 'checked' in box.attribs,
      children,
    };
  };
  const list = (element: Element, state: State): List[] => {
    const items: ListItem[] = [];
    for (const child of element.children) {
      // An item that begins with a rule changes the marks of the whole list.
      if (isEnough(state) && !hasRule(element)) break;
      if (!isTag(child)) continue;
      if (child.name === 'li') {
        const item = listItem(child, state);
        if (item !== null) items.push(item);
        continue;
      }
      // A list directly inside a list belongs to the item before it.
      const inside = blocks(flow([child], state));
      if (inside.length === 0) continue;
      const before = items.at(-1);
      if (before === undefined) items.push({ type: 'listItem', spread: false, children: inside });
      else before.children.push(...inside);
    }
    if (items.length === 0) return [];
    const ordered = element.name === 'ol';
    const start = Number.parseInt(element.attribs.start ?? '1', 10);
    return [
      {
        type: 'list',
        ordered,
        start: ordered && start >= 0 && start < 1e9 ? start : null,
        spread: false,
        children: items,
      },
    ];
  };

  const cellOf = (element: Element | null): TableCell => ({
    type: 'tableCell',
    children:
      element === null
        ? []
        : lines(flow(element.children, { ...OUTSIDE, inHeading: element.name === 'th', whole: true })),
  });
  const table = (element: Element, state: State): RootContent[] => {
    if (!hasKept(element)) return [];
    // Highlighted code with its line numbers in a table.
    const pre = element.children.length > 0 ? findCodeTable(element) : null;
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
    const isPlain = readFormulaOf(element) === null && !isRenderedTex(element) && !isDropped(element);
    // Elements that only contain others, which may be nested deeply, add to the same list.
    if (isPlain && !MARKED.has(name)) addFlow(made, element.children, state);
    else made.push(...blockElement(element, state));
  };
  const blockElement = (element: Element, state: State): RootContent[] => {
    const { name } = element;
    const formula = readFormulaOf(element);
    if (formula !== null) {
      if (!hasKept(element)) return [];
      return formula.isDisplay
        ? [{ type: 'math', value: safeTex(formula.tex) }]
        : paragraph([mathNode(formula.tex)]);
    }
    if (isRenderedTex(element) && hasTexBeside(element)) return [];
    if (isDropped(element)) return [];
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined) {
      const children = oneLine(phrasing(element.children, { ...state, inHeading: true }));
      return isBlank(children) ? [] : [{ type: 'heading', depth: depthOf(Number(level)), children }];
    }
    switch (name) {
      case 'p':
        return element.children.some((it) => isTag(it) && isBlock(it))
          ? flow(element.children, state)
          : paragraph(phrasing(element.children, state));
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
    const isText = (node: RootContent): node is Extract<RootContent, { type: 'heading' | 'paragraph' }> =>
      node.type === 'heading' ||
      (node.type === 'paragraph' && !node.children.every(({ type }) => type === 'image'));
    const meant = made.find(({ type }) => type === 'heading') ?? made.find(isText) ?? made[0];
    if (meant !== undefined && (meant.type === 'heading' || meant.type === 'paragraph'))
      meant.children = [{ type: 'link', url: url.href, children: meant.children.filter(isNoLink) }];
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
      if (isTag(node) && isBlock(node)) {
        endLine();
        if (isEnough(state)) return;
        addBlock(made, node, state);
      } else line.push(node);
    }
    endLine();
  };
  /** Divides inline content at empty lines (two breaks). */
  const paragraphs = (nodes: readonly PhrasingContent[]): Paragraph[] => {
    const made: Paragraph[] = [];
    let current: PhrasingContent[] = [];
    let breaks = 0;
    for (const node of nodes) {
      if (node.type === 'break') breaks++;
      else if (node.type !== 'text' || node.value.trim() !== '') {
        if (breaks > 1) {
          made.push(...paragraph(current));
          current = [];
        }
        breaks = 0;
      }
      current.push(node);
    }
    made.push(...paragraph(current));
    return made;
  };
  return (nodes) => flow(nodes, OUTSIDE);
}

const isNoLink = (node: PhrasingContent): boolean => node.type !== 'link';

const depthOf = (level: number): 1 | 2 | 3 | 4 | 5 | 6 => {
  if (level <= 1) return 1;
  if (level === 2) return 2;
  if (level === 3) return 3;
  if (level === 4) return 4;
  return level === 5 ? 5 : 6;
};

/** Replaces `<`, which opens a tag where formulas are not known. */
const safeTex = (tex: string): string => tex.replaceAll('<', '\\lt ').replaceAll(/(?<!\\)\$/g, '');

const plainText = (node: ChildNode): string =>
  isText(node) ? node.data : isTag(node) ? node.children.map(plainText).join('') : '';

/** Whether a link only leads to the heading that it is in. */
const isAnchor = (element: Element): boolean =>
  ANCHOR_TEXT.test(plainText(element).trim()) &&
  !element.children.some((it) => isTag(it) && it.name === 'img');

/** Returns the checkbox that begins a list item. */
function taskBox(element: Element): Element | null {
  for (const child of element.children) {
    if (isText(child) && child.data.trim() === '') continue;
    if (!isTag(child)) return null;
    if (child.name === 'input') return /^checkbox$/i.test(child.attribs.type ?? '') ? child : null;
    return child.name === 'label' || child.name === 'p' || child.name === 'span' ? taskBox(child) : null;
  }
  return null;
}

const CODE_TABLE = /(?:^|[\s_-])(?:highlight(?:table)?|rouge|code|syntaxhighlighter|hljs-ln|crayon|lntable)/i;
const GUTTER =
  /(?:^|[\s_-])(?:gutter|linenos?|line-?numbers?|hljs-ln-numbers|blob-num|lntd-?num)(?:$|[\s_-])/i;

/** Returns the element with the code of a table that shows code beside line numbers; null for other tables. */
function findCodeTable(table: Element): Element | null {
  if (!CODE_TABLE.test(table.attribs.class ?? '')) return null;
  const pres: Element[] = [];
  const visit = (element: Element): void => {
    if (element.name === 'pre') pres.push(element);
    else
      for (const child of element.children)
        if (isTag(child) && !GUTTER.test(child.attribs.class ?? '')) visit(child);
  };
  visit(table);
  return (
    pres.at(-1) ?? (/(?:hljs-ln|syntaxhighlighter|crayon)/.test(table.attribs.class ?? '') ? table : null)
  );
}

/** Removes space and breaks from both ends; says whether there was space. */
function trim(nodes: readonly PhrasingContent[]): {
  children: PhrasingContent[];
  before: boolean;
  after: boolean;
} {
  const blank = (node: PhrasingContent): boolean =>
    node.type === 'break' || (node.type === 'text' && node.value.trim() === '');
  const start = nodes.findIndex((node) => !blank(node));
  if (start < 0) return { children: [], before: nodes.length > 0, after: false };
  const end = nodes.findLastIndex((node) => !blank(node));
  const children = nodes.slice(start, end + 1);
  let [before, after] = [start > 0, end < nodes.length - 1];
  const [first] = children;
  if (first?.type === 'text') {
    const value = first.value.trimStart();
    before ||= value.length < first.value.length;
    children[0] = { type: 'text', value };
  }
  const last = children.at(-1);
  if (last?.type === 'text') {
    const value = last.value.trimEnd();
    after ||= value.length < last.value.length;
    children[children.length - 1] = { type: 'text', value };
  }
  return { children, before, after };
}

/** Collapses space between inline nodes, and around breaks. */
function joinSpaces(nodes: readonly PhrasingContent[]): PhrasingContent[] {
  const made: PhrasingContent[] = [];
  let endsInSpace = false;
  for (const node of nodes) {
    if (node.type === 'text') {
      const value: string = endsInSpace ? node.value.replace(/^ /, '') : node.value;
      if (value === '') continue;
      endsInSpace = value.endsWith(' ');
      made.push({ type: 'text', value });
      continue;
    }
    if (node.type === 'break') {
      const last = made.at(-1);
      if (last?.type === 'text') {
        const value = last.value.trimEnd();
        if (value === '') made.pop();
        else last.value = value;
      }
    }
    endsInSpace = node.type === 'break';
    made.push(node);
  }
  return made;
}

/** Replaces breaks by spaces, because headings have one line. */
const oneLine = (nodes: readonly PhrasingContent[]): PhrasingContent[] =>
  trim(nodes).children.map((node) => (node.type === 'break' ? { type: 'text', value: ' ' } : node));

/** Removes what cannot stand in a list item or a quotation; nothing that this module makes is lost. */
const blocks = (nodes: readonly RootContent[]): BlockContent[] => nodes.filter(isBlockContent);

const isBlockContent = (node: RootContent): node is BlockContent =>
  /^(?:blockquote|code|heading|html|list|paragraph|table|thematicBreak|math)$/.test(node.type);

const BREAK: PhrasingContent = { type: 'html', value: '<br>' };

/** Converts blocks to the one line of a table cell, with `<br>` between the lines. */
function lines(nodes: readonly RootContent[]): PhrasingContent[] {
  const made: PhrasingContent[][] = [];
  const visit = (node: RootContent, mark: string): void => {
    switch (node.type) {
      case 'paragraph':
      case 'heading': {
        const children = node.children.map((it) => (it.type === 'break' ? BREAK : it));
        made.push(mark === '' ? children : [{ type: 'text', value: mark }, ...children]);
        break;
      }
      case 'code':
        for (const line of node.value.split('\n'))
          if (line.trim() !== '') made.push([{ type: 'inlineCode', value: line }]);
        break;
      case 'math':
        made.push([{ type: 'inlineMath', value: node.value }]);
        break;
      case 'list':
        for (const [index, item] of node.children.entries())
          for (const [at, child] of item.children.entries())
            visit(child, at > 0 ? mark : node.ordered === true ? `${(node.start ?? 1) + index}. ` : '• ');
        break;
      case 'blockquote':
        for (const child of node.children) visit(child, mark);
        break;
      case 'table':
        for (const row of node.children)
          made.push(
            row.children.flatMap((cell, at) =>
              at > 0 ? [{ type: 'text' as const, value: ' ' }, ...cell.children] : cell.children,
            ),
          );
        break;
      default:
    }
  };
  for (const node of nodes) visit(node, '');
  return made.flatMap((line, index) => (index > 0 ? [BREAK, ...line] : line));
}
