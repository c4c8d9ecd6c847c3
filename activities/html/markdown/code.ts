import { type ChildNode, type Element, isTag, isText } from 'domhandler';

/** Parts of highlighted code that are not code. */
const BESIDE_CODE =
  /(?:^|[\s_-])(?:line-?numbers?(?:-rows)?|linenos?|lineno|ln-num|hljs-ln-numbers?|gutter|blob-num|rouge-gutter|copy(?:-?(?:btn|button|code))?|clipboard|toolbar)(?:$|[\s_-])/i;
/** Elements that put their content on lines of its own. */
const LINES = new Set('div p li tr ol ul table tbody blockquote section'.split(' '));
const LINE_CLASS = /(?:^|\s)(?:line|code-?line|view-line|cm-line|token-line|ec-line|hljs-ln-line)(?:\s|$)/i;

const classOf = ({ attribs }: Element): string => attribs.class ?? '';

const isBesideCode = (element: Element): boolean =>
  /^(?:button|script|style|svg|textarea|input|select|template)$/.test(element.name) ||
  BESIDE_CODE.test(classOf(element)) ||
  (/(?:^|\s)(?:prompt|user-select-none)(?:\s|$)/.test(classOf(element)) &&
    element.attribs['aria-hidden'] === 'true');

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
      else if (isTag(node) && !isBesideCode(node)) {
        const isLine =
          LINES.has(node.name) ||
          ((LINE_CLASS.test(classOf(node)) || isBlockSpan(node)) && !endsInBreak(node));
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
const endsInBreak = ({ next }: Element): boolean => next !== null && isText(next) && /^\r?\n/.test(next.data);

const isBlockSpan = ({ attribs }: Element): boolean =>
  /display:\s*(?:block|flex|grid)\b/.test(attribs.style ?? '');

const LANGUAGE_CLASS =
  /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|brush:\s*|sourceCode\s+|prettyprint\s+(?:linenums\s+)?lang-|highlight-|hljs\s+language-)([a-z][a-z0-9+#_.-]*)/i;
const LANGUAGE_ATTRIBUTES = ['data-lang', 'data-language', 'data-code-language', 'lang-name', 'data-syntax'];
/** Words after the prefixes that are no languages. */
const NO_LANGUAGE =
  /^(?:source|text|none|plain|plaintext|wrapper|container|block|default|content|line|lines|code|notranslate|no-?highlight|inline)$/i;

function languageAt(element: Element): string | null {
  for (const name of LANGUAGE_ATTRIBUTES) {
    const value = element.attribs[name]?.trim() ?? '';
    if (/^[a-z][a-z0-9+#_.-]*$/i.test(value)) return value;
  }
  const classes = classOf(element);
  const found = LANGUAGE_CLASS.exec(classes)?.[1] ?? null;
  if (found !== null && !NO_LANGUAGE.test(found)) return found;
  // highlight.js and Pandoc name the language in a class of its own.
  const own = /(?:^|\s)(?:hljs|sourceCode)(?:\s+)([a-z][a-z0-9+#-]*)(?:\s|$)/i.exec(classes)?.[1] ?? null;
  return own !== null && !NO_LANGUAGE.test(own) && !own.startsWith('language-') ? own : null;
}

/** Returns the language of a code block, which its own, an inner or an outer element names; null when none does. */
export function codeLanguage(pre: Element): string | null {
  const inner = pre.children.filter(isTag).find(({ name }) => name === 'code');
  let outer: Element | null = pre;
  const around: Element[] = inner === undefined ? [] : [inner];
  for (let level = 0; outer !== null && level < 4; level++) {
    around.push(outer);
    outer = outer.parent !== null && isTag(outer.parent) ? outer.parent : null;
  }
  for (const element of around) {
    // A container of other blocks says nothing about this one.
    if (/^(?:body|main|article|section)$/.test(element.name)) break;
    const language = languageAt(element);
    if (language !== null) return language.replace(/^source-/, '').toLowerCase();
  }
  return null;
}
