import { type ChildNode, type Element, isTag, isText } from 'domhandler';
import { LANGUAGES } from './languages.ts';
import { rowsOf } from './table.ts';

/** Classes of line numbers, and of cells with them. */
const NUMBERS =
  /(?:^|[\s_-])(?:line-?numbers?(?:-rows|-wrapper)?|linenos?|lineno|ln-num|hljs-ln-numbers?|lines-num|gutter|blob-num|rouge-gutter|lntd-?num|crayon-nums?)(?:$|[\s_-])|(?:^|\s)lnt?(?:\s|$)/i;
/** Classes of buttons. */
const BUTTONS =
  /(?:^|[\s_-])(?:copy(?:-?(?:btn|button|code))?|(?:zero)?clipboard(?:-container)?|toolbar)(?:$|[\s_-])/i;
/** Classes of the name of a language beside its code. */
const LABEL = /(?:^|\s)(?:lang|language|language-name|code-lang)(?:\s|$)/i;
/** Elements that put their content on lines of its own. */
const LINES = new Set('div p li tr ol ul table tbody blockquote section'.split(' '));
const LINE_CLASS =
  /(?:^|\s)(?:line|code-?line|view-line|cm-line|token-line|ec-line|hljs-ln-line|gatsby-highlight-code-line)(?:\s|$)/i;

const classOf = ({ attribs }: Element): string => attribs.class ?? '';
const isCode = ({ name }: Element): boolean => name === 'pre' || name === 'code';

/** Returns the text of a node as it is written. */
export const plainText = (node: ChildNode): string =>
  isText(node) ? node.data : isTag(node) ? node.children.map(plainText).join('') : '';

/** Whether an element only has the number of a line. */
const isLineNumber = (element: Element): boolean =>
  (NUMBERS.test(classOf(element)) ||
    /user-select:\s*none/.test(element.attribs.style ?? '') ||
    /^#\S*\d$/.test(element.attribs.href ?? '')) &&
  /^[\s\d.:|]*$/.test(plainText(element));

const isNoCode = (element: Element): boolean =>
  /^(?:button|script|style|svg|textarea|input|select|template|copy-code|clipboard-copy)$/.test(
    element.name,
  ) ||
  isLineNumber(element) ||
  (BUTTONS.test(classOf(element)) && !isCode(element)) ||
  (/(?:^|\s)(?:prompt|user-select-none)(?:\s|$)/.test(classOf(element)) &&
    element.attribs['aria-hidden'] === 'true');

/** Whether an element beside a block of code only serves it: buttons, line numbers, or the name of the language. */
export function servesCode(element: Element): boolean {
  const { name, attribs } = element;
  if (name === 'button')
    return /copy|clipboard/i.test(`${attribs.class} ${attribs.title} ${attribs['aria-label']}`);
  return isLineNumber(element) || (!isCode(element) && (LABEL.test(classOf(element)) || isNoCode(element)));
}

/**
 * Returns the text of a code element with its lines: also those that `br` or blocks make. Line numbers and buttons are
 * left out.
 */
export function codeText(element: Element): string {
  let text = '';
  const newLine = (): void => {
    if (text !== '' && !text.endsWith('\n')) text += '\n';
  };
  const visit = (nodes: readonly ChildNode[]): void => {
    for (const node of nodes) {
      if (isText(node)) text += node.data;
      else if (isTag(node) && node.name === 'br') text += '\n';
      else if (isTag(node) && !isNoCode(node)) {
        const isLine = LINES.has(node.name) || (isLineSpan(node) && !endsInBreak(node));
        if (isLine) newLine();
        const before = text.length;
        visit(node.children);
        if (isLine && text.length === before && !text.endsWith('\n\n')) text += '\n';
        else if (isLine) newLine();
      }
    }
  };
  visit(element.children);
  return text.replaceAll('\r\n', '\n').replaceAll('\u00a0', ' ').replace(/^\n/, '').trimEnd();
}

/** Whether a line break follows an element. */
const endsInBreak = ({ next }: Element): boolean =>
  next !== null && (isText(next) ? /^\r?\n/.test(next.data) : isTag(next) && next.name === 'br');

/** Whether an inline element is a line of its own. Prism's "token line" is only part of one. */
const isLineSpan = (element: Element): boolean =>
  (LINE_CLASS.test(classOf(element)) && !/(?:^|\s)token(?:\s|$)/.test(classOf(element))) ||
  'data-line' in element.attribs ||
  /display:\s*(?:block|flex|grid)\b/.test(element.attribs.style ?? '');

/** Whether a `code` element without `pre` keeps its lines, and has several. */
export const isCodeBlock = ({ name, attribs, children }: Element): boolean =>
  name === 'code' &&
  /display:\s*block|white-space:\s*(?:pre|break)/.test(attribs.style ?? '') &&
  children.some((child) => plainText(child).includes('\n') || (isTag(child) && child.name === 'br'));

const LANGUAGE_CLASS =
  /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|brush:\s*|sourceCode\s+|prettyprint\s+(?:linenums\s+)?lang-|highlight-|hl-|mw-highlight-lang-|hljs\s+language-)([a-z][a-z0-9+#_.-]*)/gi;
const LANGUAGE_ATTRIBUTE = /^(?:data-(?:[\w-]+-)?lang(?:uage)?|language|lang-name|data-syntax)$/;
/** Classes of elements whose other classes may name the language. */
const HIGHLIGHTED = /highlight|syntax|hljs|sourceCode|code/i;
/** Words after the prefixes that are no languages. */
const NO_LANGUAGE =
  /^(?:source|text|none|plain|plaintext|wrapper|container|block|default|content|line|lines|code|notranslate|no-?highlight|inline)$/i;

/** Whether a word can name a language of programs; other words of two letters name languages of people. */
const isName = (word: string): boolean =>
  /^[a-z][a-z0-9+#_.-]*$/i.test(word) &&
  !NO_LANGUAGE.test(word) &&
  (!/^[a-z]{2}(?:-[a-z]{2})?$/i.test(word) || LANGUAGES.has(word.toLowerCase()));

function languageAt(element: Element): string | null {
  const { attribs } = element;
  const classes = classOf(element);
  const words = classes.split(/\s+/);
  // highlight.js and Pandoc name the language in a class of its own.
  const own = /(?:^|\s)(?:hljs|sourceCode)\s+([a-z][a-z0-9+#-]*)(?:\s|$)/i.exec(classes)?.[1] ?? '';
  const isMarked = HIGHLIGHTED.test(classes);
  const known = words.filter(
    (word) =>
      LANGUAGES.has(word.toLowerCase()) &&
      (isMarked || (isCode(element) && (word.length > 2 || words.length < 3))),
  );
  const { lang = '' } = attribs;
  return (
    [
      ...Object.keys(attribs).map((name) =>
        LANGUAGE_ATTRIBUTE.test(name) ? (attribs[name]?.trim() ?? '') : '',
      ),
      ...[...`${classes} ${attribs['data-syntaxhighlighter-params'] ?? ''}`.matchAll(LANGUAGE_CLASS)].map(
        ([, word = '']) => word,
      ),
      own.startsWith('language-') ? '' : own,
      ...known,
      // Czech is also `cs`.
      isCode(element) && LANGUAGES.has(lang) && lang !== 'cs' ? lang : '',
    ].find(isName) ?? null
  );
}

/** Returns the language of a code block, which its own, an inner or an outer element names; null when none does. */
export function codeLanguage(pre: Element): string | null {
  const inner = pre.children.filter(isTag).find(({ name }) => name === 'code');
  let outer: Element | null = pre;
  const around: Element[] = inner === undefined ? [] : [inner];
  for (let level = 0; outer !== null && level < 4; ) {
    around.push(outer);
    // The parts of a table with line numbers are one level.
    if (!/^(?:table|t[dhr]|tbody)$/.test(outer.name)) level++;
    outer = outer.parent !== null && isTag(outer.parent) ? outer.parent : null;
  }
  for (const element of around) {
    // A container of other blocks says nothing about this one.
    if (/^(?:body|main|article|section)$/.test(element.name)) break;
    const language = languageAt(element);
    if (language !== null) return language.replace(/^source-|-basic$/g, '').toLowerCase();
  }
  return null;
}

const CODE_TABLE = /(?:^|[\s_-])(?:highlight(?:table)?|rouge|code|syntaxhighlighter|hljs-ln|crayon|lntable)/i;

/** Returns the element with the code of a table that shows code beside line numbers; null for other tables. */
export function findCodeTable(table: Element): Element | null {
  const rows = rowsOf(table).map(({ children }) => children.filter(isTag).map(classOf));
  const hasNumbers = rows.some(
    (cells) =>
      cells.some((it) => NUMBERS.test(it)) && cells.some((it) => /code|lines/i.test(it) && !NUMBERS.test(it)),
  );
  if (!hasNumbers && !CODE_TABLE.test(classOf(table))) return null;
  const pres: Element[] = [];
  const visit = (element: Element): void => {
    if (element.name === 'pre') pres.push(element);
    else
      for (const child of element.children) if (isTag(child) && !NUMBERS.test(classOf(child))) visit(child);
  };
  visit(table);
  // With one `pre` for each line, the table is the code.
  if (hasNumbers && pres.length !== 1) return table;
  return pres.at(-1) ?? (/(?:hljs-ln|syntaxhighlighter|crayon)/.test(classOf(table)) ? table : null);
}
