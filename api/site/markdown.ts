import { Marked, Renderer, type Token, type Tokens } from 'marked';
import { withUnits } from '../dashboard/components/text.ts';
import { type Html, html, ownMarkup } from '../dashboard/frame/html.ts';
import { codeBlock } from './highlight.ts';

export interface Heading {
  id: string;
  /** Plain text. */
  text: string;
}

interface Rendered {
  body: Html;
  /** Headings of the second level, for "On this page". */
  headings: Heading[];
}

/** Anchor of a heading as GitHub derives it, so that links between the files work on GitHub and on the site. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');

/** Text of inline tokens, without their markup. */
const plain = (tokens: readonly Token[]): string =>
  tokens
    .map((token) => ('tokens' in token && token.tokens !== undefined ? plain(token.tokens) : textOf(token)))
    .join('');
const textOf = (token: Token): string =>
  'text' in token && typeof token.text === 'string' ? token.text : token.raw;

/** Turns a link between files of `docs/` into one between pages; null: the file is not published. */
type LinkTo = (file: string) => string | null;

function hrefOf(href: string, linkTo: LinkTo): string | null {
  const [, file = '', anchor = ''] = /^([\w./-]+\.\w+)(#.*)?$/.exec(href) ?? [];
  if (file === '' || href.startsWith('/')) return href;
  const page = linkTo(file);
  return page === null ? null : `${page}${anchor}`;
}

/** Replaces links in Markdown by their texts. */
export const withoutLinks = (text: string): string => text.replaceAll(/\[([^[\]]*)\]\([^()]*\)/g, '$1');

/** Lets names and paths break after `/`, `.` and `_`, and nowhere else. */
const breakable = (code: string): string => code.replaceAll(/(?<=[\w}])[/._](?=[\w{])/g, '$&<wbr>');

/** Keeps a name together with the brackets and punctuation beside it, which would otherwise begin or end a line. */
const withPunctuation = (markup: string): string =>
  markup.replaceAll(
    /\((?:<a [^>]*>)?<code>[^<]*<\/code>(?:<\/a>)?[,.;:!?)]*|(?:<a [^>]*>)?<code>[^<]*<\/code>(?:<\/a>)?[,.;:!?)]+/g,
    '<span class="keep">$&</span>',
  );

/** Code of more characters can be wider than a telephone. */
const NARROW_CHARACTERS = 30;

function codespan({ text: code }: Tokens.Codespan): string {
  const escaped = html`${code}`.markup;
  return code.length > NARROW_CHARACTERS
    ? `<code class="long">${breakable(escaped)}</code>`
    : `<code>${escaped}</code>`;
}

function walkTokens(token: Token): void {
  if (token.type === 'text') token.text = withUnits(token.text);
}

/** Renders Markdown of this project. Headings become links to themselves, and wide tables scroll. */
export function renderMarkdown(text: string, linkTo: LinkTo): Rendered {
  const headings: Heading[] = [];
  const used = new Map<string, number>();
  const idOf = (heading: string): string => {
    const anchor = anchorOf(heading);
    const times = used.get(anchor) ?? 0;
    used.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  };
  const marked = new Marked({
    walkTokens,
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const name = plain(tokens);
        const id = idOf(name);
        if (depth === 2) headings.push({ id, text: name });
        const inner = tokens.some(({ type }) => type === 'link')
          ? this.parser.parseInline(tokens)
          : `<a href="#${id}">${this.parser.parseInline(tokens)}</a>`;
        return `<h${depth} id="${id}">${inner}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const inner = this.parser.parseInline(tokens);
        const target = hrefOf(href, linkTo);
        return target === null ? inner : html`<a href="${target}">${ownMarkup(inner)}</a>`.markup;
      },
      table(token: Tokens.Table) {
        const table = Renderer.prototype.table.call(this, token).replaceAll(/<code>[^<]*/g, breakable);
        return `<div class="wide" tabindex="0" role="group" aria-label="Table">${table}</div>\n`;
      },
      codespan,
      code: ({ text: code, lang }: Tokens.Code) => codeBlock(code, lang ?? '').markup,
    },
  });
  return { body: ownMarkup(withPunctuation(String(marked.parse(text, { async: false })))), headings };
}

/** Renders a text without paragraphs, such as the description of a field. */
export const renderInline = (text: string): Html =>
  ownMarkup(
    withPunctuation(
      String(new Marked({ walkTokens, renderer: { codespan } }).parseInline(text, { async: false })),
    ),
  );
