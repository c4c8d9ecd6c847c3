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
import { parseHtml } from '../parse.ts';
import { resolveUrl } from '../urls.ts';
import { displayOf } from '../visibility.ts';
import { codeLanguage, codeText, findCodeTable, isCodeBlock, plainText, servesCode } from './code.ts';
import { imageUrl, isPixel } from './images.ts';
import { isRenderedTex, readFormula } from './math.ts';
import './mathNodes.ts';
import { readTable } from './table.ts';
import { isQuillList, taskState } from './tasks.ts';

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
/** Longest markup of a `noscript` with an image, in UTF-16 code units. */
const MAX_NOSCRIPT = 10_000;
/** Longest text of one node. Escaping takes more than linear time in the length of a node. */
const MAX_TEXT = 1000;
const HEADING = /^h([1-6])$/;
/** Elements that are more than containers of blocks. */
const MARKED = new Set(
  'h1 h2 h3 h4 h5 h6 p pre listing xmp hr ul ol menu dir blockquote table dt summary a code'.split(' '),
);
/** Texts of links by which headings link to themselves: a mark, or a label for those who cannot see it. */
const ANCHOR_TEXT = /^(?:[#¶§🔗∞]|(?:perma|direct )?link(?: to\b.*)?|section titled\b.*|anchor)?$/iu;
const ANCHOR_CLASS = /(?:^|[\s_-])(?:anchor|headerlink|hash-link|permalink)/i;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;
/** The level of a heading without its own (WAI-ARIA, role heading). */
const ARIA_LEVEL = '2';

/** Returns the level of a heading; undefined for other elements. */
const levelOf = ({ name, attribs }: Element): string | undefined =>
  HEADING.exec(name)?.[1] ??
  (attribs.role === 'heading' && /^(?:div|p|span)$/.test(name)
    ? (/^[1-6]$/.exec(attribs['aria-level'] ?? '')?.[0] ?? ARIA_LEVEL)
    : undefined);

const LINES_KEPT = /white-space:\s*(?:pre|break-spaces)/;
const LINES_JOINED = /white-space:\s*(?:normal|nowrap)/;

const SPACE = /[\t\n\f\r ]+/g;

/** Returns a function that computes each result once. */
function remember<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = compute(key);
    known.set(key, made);
    return made;
  };
}

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

/** Cells are blocks in a table that only arranges. */
const isOwnBlock = (element: Element): boolean =>
  displayOf(element, null).block ||
  /^t[dh]$/.test(element.name) ||
  levelOf(element) !== undefined ||
  isCodeBlock(element);

/** Returns the state inside an element. */
function inside({ attribs: { style = '' } }: Element, state: State): State {
  if (LINES_KEPT.test(style)) return { ...state, keepsLines: true };
  return LINES_JOINED.test(style) ? { ...state, keepsLines: false } : state;
}

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
  const readFormulaOf = remember(readFormula);
  /** Whether an element is a block or contains one. */
  const isBlock: (element: Element) => boolean = remember((element) => {
    const formula = readFormulaOf(element);
    if (formula !== null) return formula.isDisplay;
    return (
      !isDropped(element) &&
      (isOwnBlock(element) || element.children.some((child) => isTag(child) && isBlock(child)))
    );
  });
  const hasTex = remember(({ children }: ParentNode) =>
    children.some((it) => isTag(it) && it.name === 'script' && readFormula(it) !== null),
  );
  /** Whether TeX in a `script` follows or precedes what MathJax made of it. */
  const hasTexBeside = ({ parent }: Element): boolean => parent !== null && hasTex(parent);
  const hasPre = remember(({ children }: ParentNode) =>
    children.some((it) => isTag(it) && it.name === 'pre'),
  );
  const isBesidePre = (element: Element): boolean =>
    element.parent !== null && hasPre(element.parent) && servesCode(element);
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

  const addInline = (made: PhrasingContent[], element: Element, outer: State): void => {
    const { name, attribs } = element;
    const state = inside(element, outer);
    if (isRenderedTex(element) && hasTexBeside(element)) return;
    const formula = readFormulaOf(element);
    if (formula !== null) {
      if (hasKept(element) || name === 'script') made.push(mathNode(formula.tex));
      return;
    }
    if (name === 'noscript') made.push(...noscriptImage(element, state));
    if (name === 'svg' && isBetween(element)) made.push({ type: 'text', value: ' ' });
    if (isDropped(element)) return;
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
      case 'amp-img':
        made.push(...imageNodes(element, state));
        break;
      case 'a': {
        const url = attribs.href === undefined || state.inLink ? null : resolveUrl(attribs.href, base);
        if (isAnchor(element, state)) break;
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
  /** Returns the image that a `noscript` has for one that scripts load without saying from where. */
  const noscriptImage = (element: Element, state: State): PhrasingContent[] => {
    const markup = plainText(element);
    if (element.children.some(isTag) || markup.length > MAX_NOSCRIPT || !/<img\b/i.test(markup)) return [];
    const shown = element.parent?.children.filter(isTag).filter(isImage) ?? [];
    const image = findImage(parseHtml(`<!doctype html><body>${markup}`).children);
    if (image === null || shown.some((it) => imageUrl(it, base) !== null)) return [];
    // An image without text that stands alone counts visits.
    if (shown.length === 0 && (image.attribs.alt ?? '') === '') return [];
    image.parent = element.parent;
    return imageNodes(image, state);
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
      } else if (isTag(node) && !isBesidePre(node)) {
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
        : lines(flow(element.children, { ...OUTSIDE, inHeading: element.name === 'th', whole: true })),
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
      readFormulaOf(element) === null &&
      !isRenderedTex(element) &&
      !isDropped(element) &&
      levelOf(element) === undefined;
    // Elements that only contain others, which may be nested deeply, add to the same list.
    if (isPlain && !MARKED.has(name)) addFlow(made, element.children, inside(element, state));
    else made.push(...blockElement(element, state));
  };
  const blockElement = (element: Element, outer: State): RootContent[] => {
    const { name } = element;
    const state = inside(element, outer);
    if (isRenderedTex(element) && hasTexBeside(element)) return [];
    const formula = readFormulaOf(element);
    if (formula !== null) {
      if (!hasKept(element)) return [];
      return formula.isDisplay
        ? [{ type: 'math', value: safeTex(formula.tex) }]
        : paragraph([mathNode(formula.tex)]);
    }
    if (isDropped(element)) return [];
    const level = levelOf(element);
    if (level !== undefined) {
      const children = oneLine(phrasing(element.children, { ...state, inHeading: true }));
      return isBlank(children) ? [] : [{ type: 'heading', depth: depthOf(Number(level)), children }];
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
    const titles = titlesIn(made);
    const meant =
      titles.find(({ type }) => type === 'heading') ??
      titles.find(({ children }) => !children.every(({ type }) => type === 'image')) ??
      titles[0];
    if (meant !== undefined)
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
      if (isTag(node) && isBesidePre(node)) continue;
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

/** Whether a link only leads to the heading that it is in or beside. */
const isAnchor = (element: Element, { inHeading }: State): boolean => {
  const { class: classes = '', href = '' } = element.attribs;
  const isNamed = ANCHOR_CLASS.test(classes) && href.startsWith('#');
  if (!isNamed && (!inHeading || !href.includes('#'))) return false;
  const text = plainText(element).replaceAll(INVISIBLE, '').trim();
  // A label without a class may be the heading itself.
  return (
    (isNamed ? ANCHOR_TEXT.test(text) : [...text].length < 2 && ANCHOR_TEXT.test(text)) &&
    findImage(element.children) === null
  );
};

/** Returns the link that all text of an element is in; null when there is none. */
function linkOfAll(element: Element): Element | null {
  const [only, ...others] = element.children.filter((it) => !isText(it) || it.data.trim() !== '');
  if (only === undefined || others.length > 0 || !isTag(only)) return null;
  return only.name === 'a' ? only : linkOfAll(only);
}

/** Whether something follows a drawing that it is apart from; at the end of a link, the drawing says where the link leads. */
function isBetween(drawing: Element): boolean {
  for (let at = drawing; at.name !== 'a'; at = at.parent) {
    if (at.next !== null) return !isText(at.next) || !/^[.,;:!?)\]]/.test(at.next.data);
    if (at.parent === null || !isTag(at.parent)) break;
  }
  return false;
}

const isImage = ({ name }: Element): boolean => name === 'img' || name === 'amp-img';

function findImage(nodes: readonly ChildNode[]): Element | null {
  for (const node of nodes) {
    if (!isTag(node)) continue;
    const found = isImage(node) ? node : findImage(node.children);
    if (found !== null) return found;
  }
  return null;
}

/** Whether a `noscript` with an image follows an image. */
const hasNoscriptImage = ({ parent }: Element): boolean =>
  parent?.children.some((it) => isTag(it) && it.name === 'noscript' && /<img\b/i.test(plainText(it))) ===
  true;

/** Returns the headings and paragraphs among nodes, also those in lists and quotations, in order. */
const titlesIn = (nodes: readonly RootContent[]): Extract<RootContent, { type: 'heading' | 'paragraph' }>[] =>
  nodes.flatMap((node) => {
    if (node.type === 'heading' || node.type === 'paragraph') return [node];
    return node.type === 'list' || node.type === 'listItem' || node.type === 'blockquote'
      ? titlesIn(node.children)
      : [];
  });

/** Returns the number that an attribute has; null when it has none. */
const integerOf = (text = ''): number | null => {
  const number = Number.parseInt(text, 10);
  return Number.isFinite(number) ? number : null;
};

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

const PUNCTUATION = /[\p{P}\p{S}]/u;
const isStressed = (
  node: PhrasingContent,
): node is Extract<PhrasingContent, { type: 'emphasis' | 'strong' }> =>
  node.type === 'emphasis' || node.type === 'strong';

/** Returns the first (0) or last (-1) character of an inline node; '' when it has none. */
function edgeOf(node: PhrasingContent, at: 0 | -1): string {
  if ('value' in node) return [...node.value].at(at) ?? '';
  const child = 'children' in node ? node.children.at(at) : undefined;
  return child === undefined ? '' : edgeOf(child, at);
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
      const last = made.at(-1);
      // Adjacent texts become one node, because the serializer looks at the characters beside one that it may escape.
      if (last?.type === 'text' && last.value.length + value.length <= MAX_TEXT) last.value += value;
      else made.push({ type: 'text', value });
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
    const last = made.at(-1);
    // GitHub looks past `~~` for what is beside other marks, which punctuation at their inner edge then disables.
    if (
      last !== undefined &&
      isStressed(last) &&
      node.type === 'delete' &&
      PUNCTUATION.test(edgeOf(last, -1))
    )
      made.splice(-1, 1, ...last.children);
    if (last?.type === 'delete' && isStressed(node) && PUNCTUATION.test(edgeOf(node, 0)))
      made.push(...node.children);
    // Marks that follow each other would be read as one.
    else if (last?.type === 'inlineCode' && node.type === 'inlineCode') last.value += node.value;
    else if (last?.type === 'delete' && node.type === 'delete') last.children.push(...node.children);
    else made.push(node);
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
  return made
    .flatMap((line, index) => (index > 0 ? [BREAK, ...line] : line))
    .map((it) =>
      it.type === 'inlineCode' && it.value.includes('\\|') ? { type: 'text', value: it.value } : it,
    );
}
