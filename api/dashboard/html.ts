/** Markup that is safe to send as it is. Made by `html` alone, so that nothing from outside passes for it. */
class Markup {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}
export type Html = Markup;

/** What may stand in a template: text is escaped, markup is not, and null leaves nothing. */
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
  throw new TypeError('want text, a number or what html`` made');
}

/**
 * A template of HTML: html`<p title="${text}">${text}</p>`. Text is escaped for elements and for attribute values in
 * quotes, which is where values may stand; a URL in `href` or `src` must be known to have a harmless scheme.
 */
export const html = (strings: TemplateStringsArray, ...parts: Part[]): Html =>
  new Markup(strings.map((string, i) => (i === 0 ? '' : render(parts[i - 1] ?? null)) + string).join(''));
