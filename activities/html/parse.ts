import { type Document, isTag, type ParentNode } from 'domhandler';
import { Parser, Token, TokenizerMode } from 'parse5';
import { BoundedTokenizer } from './tokenizer.ts';
import { adoptChildren, createTree, type TreeMap } from './tree.ts';

/** Chromium's own limit (`kMaximumHTMLParserDOMTreeDepth`); beyond it elements become siblings of each other. */
const DEPTH = 512;
/** Formatting elements that are opened again in each new block; every one costs an element each time. */
const FORMATTING = 32;
/** Their content is text up to their end tag, so that they hold no elements. */
const TEXT_ONLY = new Set(
  'iframe noembed noframes noscript plaintext script style textarea title xmp'.split(' '),
);
/** The parser relies on finding these among the open elements while it is inside them. */
const STRUCTURAL = new Set(
  'body caption colgroup frameset head html select table tbody td template tfoot th thead tr'.split(' '),
);

/** Tree construction of the HTML Standard, in a time that grows with the length of the page, whatever it holds. */
class BoundedParser extends Parser<TreeMap> {
  readonly #xhtml: boolean;
  /** End tags to come of elements that were not kept open, by tag name. */
  readonly #flattened = new Map<string, number>();

  constructor(xhtml: boolean) {
    super({ treeAdapter: createTree() });
    this.tokenizer = new BoundedTokenizer(this);
    this.#xhtml = xhtml;
  }

  override onStartTag(token: Token.TagToken): void {
    const { tagName } = token;
    if (this.openElements.stackTop >= DEPTH - 1 && STRUCTURAL.has(tagName)) {
      this.#flatten(tagName);
      return;
    }
    super.onStartTag(token);
    const { entries } = this.activeFormattingElements;
    if (entries.length > FORMATTING) entries.length = FORMATTING;
    if (this.openElements.stackTop >= DEPTH && !TEXT_ONLY.has(tagName)) this.#closeDeepest(tagName);
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
    if (this.openElements.stackTop < DEPTH - 1) this.#flattened.clear();
  }

  override _adoptNodes(donor: ParentNode, recipient: ParentNode): void {
    adoptChildren(donor, recipient);
  }

  #flatten(tagName: string): void {
    this.#flattened.set(tagName, (this.#flattened.get(tagName) ?? 0) + 1);
  }

  /** What follows becomes siblings of the elements that are too deep. */
  #closeDeepest(tagName: string): void {
    while (this.openElements.stackTop >= DEPTH) {
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

  /** XML has `<a/>` for `<a></a>`. */
  #closeEmpty(token: Token.TagToken): void {
    this.onEndTag({ ...token, type: Token.TokenType.END_TAG, selfClosing: false, attrs: [] });
    this.tokenizer.state = TokenizerMode.DATA;
  }
}

/**
 * The tree of a page as a browser with scripting makes it (`noscript` holds text). Elements more than 512 deep become
 * siblings of each other, and attributes after the 256th of a tag are left out.
 *
 * @param xhtml take `<a/>` for an empty element, as XML does
 * @throws ServiceError source_too_large for a page of too many nodes
 */
export function parseHtml(text: string, xhtml = false): Document {
  const parser = new BoundedParser(xhtml);
  parser.tokenizer.write(text, true);
  return parser.document;
}
