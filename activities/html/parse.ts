import { type Document, isTag, type ParentNode } from 'domhandler';
import { html, Parser, Token, TokenizerMode } from 'parse5';
import { BoundedTokenizer } from './tokenizer.ts';
import { adoptChildren, createTree, MAX_NODES, type TreeMap } from './tree.ts';

/**
 * Chromium's limit for the depth of the DOM (`kMaximumHTMLParserDOMTreeDepth`). Deeper elements become siblings of each
 * other.
 */
const MAX_DEPTH = 512;
/** Largest number of active formatting elements. The parser creates a copy of each of them in every new block. */
const MAX_FORMATTING = 32;
/** Elements whose content up to their end tag is text, not markup. */
const TEXT_ONLY = new Set(
  'iframe noembed noframes noscript plaintext script style textarea title xmp'.split(' '),
);
const { TAG_ID } = html;
/** Tags that close elements in a `select` before they are inserted, or the `select` itself. */
const IN_SELECT: ReadonlySet<number> = new Set([
  TAG_ID.HR,
  TAG_ID.INPUT,
  TAG_ID.OPTGROUP,
  TAG_ID.OPTION,
  TAG_ID.SELECT,
]);
/** Elements that the parser expects on its stack of open elements while it parses their content. */
const STRUCTURAL = new Set(
  'body caption colgroup frameset head html select table tbody td template tfoot th thead tr'.split(' '),
);

/** Makes `select` a boundary of the scopes (HTML Standard, section 13.2.4.2), which parse5 does not yet know. */
function limitScopes(stack: Parser<TreeMap>['openElements']): void {
  const lastOf = (isMeant: (tag: number) => boolean): number => {
    for (let index = stack.stackTop; index >= 0; index--) {
      const item = stack.items[index];
      const isHtml = item !== undefined && isTag(item) && item.namespace === html.NS.HTML;
      if (isHtml && isMeant(stack.tagIDs[index] ?? TAG_ID.UNKNOWN)) return index;
    }
    return -1;
  };
  const isWithin = (isMeant: (tag: number) => boolean): boolean => {
    const select = lastOf((tag) => tag === TAG_ID.SELECT);
    // For the `select` itself, parse5 says that an empty stack has it.
    return select < 0 ? !isMeant(TAG_ID.SELECT) : lastOf(isMeant) >= select;
  };
  const { hasInScope, hasInButtonScope, hasInListItemScope, hasNumberedHeaderInScope } = stack;
  const is = (meant: number) => (tag: number) => tag === meant;
  stack.hasInScope = (tag) => isWithin(is(tag)) && hasInScope.call(stack, tag);
  stack.hasInButtonScope = (tag) => isWithin(is(tag)) && hasInButtonScope.call(stack, tag);
  stack.hasInListItemScope = (tag) => isWithin(is(tag)) && hasInListItemScope.call(stack, tag);
  stack.hasNumberedHeaderInScope = () =>
    isWithin((tag) => html.NUMBERED_HEADERS.has(tag)) && hasNumberedHeaderInScope.call(stack);
}

/**
 * A parser for the tree construction of the HTML Standard, in time proportional to the length of the page, even for
 * malicious pages.
 */
class BoundedParser extends Parser<TreeMap> {
  readonly #xhtml: boolean;
  /**
   * Number of end tags to ignore, by tag name, because the parser has already closed their elements at the depth limit.
   */
  readonly #flattened = new Map<string, number>();

  constructor(xhtml: boolean, maxNodes: number) {
    super({ treeAdapter: createTree(maxNodes) });
    this.tokenizer = new BoundedTokenizer(this);
    limitScopes(this.openElements);
    this.#xhtml = xhtml;
  }

  override onStartTag(token: Token.TagToken): void {
    const { tagName } = token;
    if (this.openElements.stackTop >= MAX_DEPTH - 1 && STRUCTURAL.has(tagName)) {
      this.#flatten(tagName);
      return;
    }
    super.onStartTag(token);
    const { entries } = this.activeFormattingElements;
    if (entries.length > MAX_FORMATTING) entries.length = MAX_FORMATTING;
    if (this.openElements.stackTop >= MAX_DEPTH && !TEXT_ONLY.has(tagName)) this.#closeDeepest(tagName);
    if (this.#xhtml && token.selfClosing && !token.ackSelfClosing) this.#closeEmpty(token);
  }

  override onEndTag(token: Token.TagToken): void {
    const expected = this.#flattened.get(token.tagName) ?? 0;
    if (expected > 0) {
      this.skipNextNewLine = false;
      this.#flattened.set(token.tagName, expected - 1);
      return;
    }
    super.onEndTag(token);
    if (this.openElements.stackTop < MAX_DEPTH - 1) this.#flattened.clear();
  }

  /**
   * Applies the rules of the HTML Standard for the content of `select` (section 13.2.6.4.7), which may be any markup since
   * 2025. parse5 still has the earlier rules, which drop it.
   */
  override _startTagOutsideForeignContent(token: Token.TagToken): void {
    const { openElements } = this;
    const { tagID } = token;
    if (IN_SELECT.has(tagID) && openElements.hasInScope(TAG_ID.SELECT)) {
      if (tagID === TAG_ID.SELECT || tagID === TAG_ID.INPUT)
        openElements.popUntilTagNamePopped(TAG_ID.SELECT);
      else if (tagID === TAG_ID.OPTION) openElements.generateImpliedEndTagsWithExclusion(TAG_ID.OPTGROUP);
      else openElements.generateImpliedEndTags();
      if (tagID === TAG_ID.SELECT) return;
    }
    super._startTagOutsideForeignContent(token);
    if (tagID === TAG_ID.SELECT && openElements.currentTagId === TAG_ID.SELECT) this._resetInsertionMode();
  }

  override _endTagOutsideForeignContent(token: Token.TagToken): void {
    const { openElements } = this;
    if (token.tagID === TAG_ID.SELECT && openElements.hasInScope(TAG_ID.SELECT)) {
      openElements.generateImpliedEndTags();
      openElements.popUntilTagNamePopped(TAG_ID.SELECT);
    } else super._endTagOutsideForeignContent(token);
  }

  /** Leaves the insertion mode to the elements around a `select`. */
  override _resetInsertionModeForSelect(index: number): void {
    const { openElements } = this;
    const { stackTop } = openElements;
    openElements.stackTop = index - 1;
    this._resetInsertionMode();
    openElements.stackTop = stackTop;
  }

  override _adoptNodes(donor: ParentNode, recipient: ParentNode): void {
    adoptChildren(donor, recipient);
  }

  #flatten(tagName: string): void {
    this.#flattened.set(tagName, (this.#flattened.get(tagName) ?? 0) + 1);
  }

  /** Closes open elements beyond the depth limit, so that the elements that follow become their siblings. */
  #closeDeepest(tagName: string): void {
    while (this.openElements.stackTop >= MAX_DEPTH) {
      const { current } = this.openElements;
      const entry =
        current !== undefined && isTag(current)
          ? this.activeFormattingElements.getElementEntry(current)
          : undefined;
      if (entry !== undefined) this.activeFormattingElements.removeEntry(entry);
      this.openElements.pop();
    }
    this.#flatten(tagName);
  }

  /** Closes an element whose start tag is self-closing: in XHTML, `<a/>` means `<a></a>`. */
  #closeEmpty(token: Token.TagToken): void {
    this.onEndTag({ ...token, type: Token.TokenType.END_TAG, selfClosing: false, attrs: [] });
    this.tokenizer.state = TokenizerMode.DATA;
  }
}

/**
 * Parses a page like a browser with scripting enabled (`noscript` contains text). Elements deeper than 512 levels
 * become siblings of each other. Attributes after the 256th of a tag are dropped.
 *
 * @param xhtml true to treat `<a/>` as an empty element, as in XML
 * @param maxNodes largest number of elements, text nodes and comments
 * @throws ServiceError source_too_large when the page has more nodes
 */
export function parseHtml(text: string, xhtml = false, maxNodes = MAX_NODES): Document {
  const parser = new BoundedParser(xhtml, maxNodes);
  parser.tokenizer.write(text, true);
  return parser.document;
}
