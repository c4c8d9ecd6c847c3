import { type ChildNode, type Element, isTag, isText } from 'domhandler';
import { plainText } from './code.ts';
import { find } from './find.ts';

const elements = ({ children }: Element): Element[] => children.filter(isTag);
const squeeze = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** Writes presentation MathML (MathML Core) as TeX. Unknown elements are replaced by their content. */
function texOf(node: ChildNode): string {
  if (!isTag(node)) return isText(node) ? squeeze(node.data) : '';
  const parts = elements(node).map(texOf);
  const [a = '', b = '', c = ''] = parts;
  switch (node.name) {
    case 'mfrac':
      return `\\frac{${a}}{${b}}`;
    case 'msqrt':
      return `\\sqrt{${parts.join(' ')}}`;
    case 'mroot':
      return `\\sqrt[${b}]{${a}}`;
    case 'msup':
    case 'mover':
      return `{${a}}^{${b}}`;
    case 'msub':
    case 'munder':
      return `{${a}}_{${b}}`;
    case 'msubsup':
    case 'munderover':
      return `{${a}}_{${b}}^{${c}}`;
    case 'mtext':
      return `\\text{${squeeze(plainText(node))}}`;
    case 'mtr':
      return parts.join(' & ');
    case 'mtable':
      return `\\begin{matrix}${parts.join(' \\\\ ')}\\end{matrix}`;
    case 'annotation':
    case 'annotation-xml':
      return '';
    default:
      return parts.length > 0 ? parts.join(' ') : squeeze(plainText(node));
  }
}

/** A formula in TeX. */
interface Formula {
  tex: string;
  isDisplay: boolean;
}

const isMath = ({ name }: Element): boolean => name === 'math';
const isTex = ({ name, attribs }: Element): boolean =>
  name === 'annotation' && /tex/i.test(attribs.encoding ?? '');
/** Containers in which KaTeX, MathJax and MediaWiki show one formula in several ways. */
const CONTAINER =
  /(?:^|\s)(?:katex|katex-display|mwe-math-element|MathJax(?:_Display|_SVG|_Preview)?|mathjax)(?:\s|$)/;

function read(math: Element): Formula | null {
  const annotation = find(math.children, isTex);
  const tex = squeeze(annotation === null ? (math.attribs.alttext ?? texOf(math)) : plainText(annotation));
  // MediaWiki puts the whole formula in a group.
  const bare = /^\{\\(?:display|text)style (.*)\}$/.exec(tex)?.[1] ?? tex;
  return bare === '' ? null : { tex: bare.trim(), isDisplay: math.attribs.display === 'block' };
}

/** Elements whose text is TeX: of Pandoc, Sphinx, remark-math, Arithmatex, CKEditor, Stack Exchange and GitLab. */
const TEX_TEXT =
  /(?:^|\s)(?:math|math-(?:container|tex|inline|display)|language-math|arithmatex|js-render-math)(?:\s|$)/;
const DELIMITED = /^(?:\\\((.+)\\\)|\\\[(.+)\\\]|\$\$(.+)\$\$|\$(.+)\$)$/;

/** Reads a formula that an element has as text, with the delimiters of TeX or with a class that says how it is shown. */
function readTexText(element: Element): Formula | null {
  const { name, attribs } = element;
  const { class: classes = '' } = attribs;
  if (name !== 'math-renderer' && !TEX_TEXT.test(classes)) return null;
  if (element.children.some((child) => isTag(child) && child.name !== 'code')) return null;
  const text = squeeze(plainText(element));
  const [, round, square, double, single] = DELIMITED.exec(text) ?? [];
  const delimited = round ?? square ?? double ?? single;
  const mode = `${classes} ${attribs['data-math-style'] ?? ''}`;
  const isDisplay = (square ?? double) !== undefined || /(?:^|[\s-])display(?:\s|$)/.test(mode);
  const isTold = isDisplay || /(?:^|[\s-])inline(?:\s|$)|language-math/.test(mode);
  const tex = delimited?.trim() ?? (isTold ? text : '');
  return tex === '' ? null : { tex, isDisplay };
}

/**
 * Reads a formula from an element that shows one: MathML, its containers by KaTeX, MathJax and MediaWiki, a script with TeX, or TeX as text.
 *
 * @returns null when the element is no formula
 */
export function readFormula(element: Element): Formula | null {
  const { name, attribs } = element;
  if (name === 'script') {
    const isFormula = /^math\/(?:tex|latex)/i.test(attribs.type ?? '');
    const tex = squeeze(plainText(element));
    return isFormula && tex !== '' ? { tex, isDisplay: /mode=display/.test(attribs.type ?? '') } : null;
  }
  if (isMath(element)) return read(element);
  const classes = attribs.class ?? '';
  if (name !== 'mjx-container' && !CONTAINER.test(classes)) return readTexText(element);
  const math = find(element.children, isMath);
  if (math === null) return null;
  const formula = read(math);
  const isDisplay = formula?.isDisplay === true || /display/i.test(classes) || attribs.display === 'true';
  return formula === null ? null : { ...formula, isDisplay };
}

/** Whether an element shows a formula whose TeX is in a `script` beside it, as MathJax 2 does. */
export const isRenderedTex = ({ attribs }: Element): boolean =>
  /(?:^|\s)MathJax(?:_Display|_Preview|_SVG|_CHTML)?(?:\s|$)/.test(attribs.class ?? '');
