/**
 * Markup that is safe to send unescaped. Only `html` and `ownMarkup` create it, so that untrusted text is always escaped.
 */
class Markup {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}
export type Html = Markup;

/** A value in a template. Text is escaped, markup is inserted as it is, null is empty. */
type Part = string | number | Html | readonly Html[] | null;

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeText = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

function render(part: Part): string {
  if (part === null) return '';
  if (typeof part === 'string') return escapeText(part);
  if (typeof part === 'number') return String(part);
  if (part instanceof Markup) return part.markup;
  if (Array.isArray(part)) return part.map(render).join('');
  throw new TypeError('a template value must be text, a number, null or the result of html``');
}

/**
 * An HTML template: html`<p title="${text}">${text}</p>`. Values are permitted in elements and in quoted attribute values,
 * for which text is escaped. The scheme of a URL in `href` or `src` must be known to be safe.
 */
export const html = (strings: TemplateStringsArray, ...parts: Part[]): Html =>
  new Markup(strings.map((string, i) => (i === 0 ? '' : render(parts[i - 1] ?? null)) + string).join(''));

/** Marks a text as markup. @param markup rendered from files of this project, never from data of users */
export const ownMarkup = (markup: string): Html => new Markup(markup);
