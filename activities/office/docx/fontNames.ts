import { scanXml, type Tag } from '../xml.ts';

/** Scripts of East Asia and scripts that w:rFonts calls complex, for which a run has other fonts. */
const EAST_ASIAN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u;
const COMPLEX =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Devanagari}\p{Script=Thai}\p{Script=Bengali}\p{Script=Tamil}]/u;

interface Style {
  fonts: string[];
  base: string | undefined;
}

/** Reads the fonts of a theme (ECMA-376-1, 20.1.4.1.18) by the names with which w:rFonts refers to them. */
function themeFonts(theme: string): Map<string, string> {
  const fonts = new Map<string, string>();
  let kind = '';
  scanXml(theme, {
    open({ name, attributes }) {
      const tag = name.slice(name.indexOf(':') + 1);
      if (tag === 'majorFont' || tag === 'minorFont') kind = tag.slice(0, 5);
      const face = attributes.typeface;
      if (kind === '' || face === undefined || face === '') return;
      if (tag === 'latin') for (const it of ['HAnsi', 'Ascii']) fonts.set(kind + it, face);
      if (tag === 'ea') fonts.set(`${kind}EastAsia`, face);
      if (tag === 'cs') fonts.set(`${kind}Bidi`, face);
    },
    close(name) {
      if (/:(?:major|minor)Font$/.test(name)) kind = '';
    },
  });
  return fonts;
}

/**
 * Returns the font families that a Word document asks for: those of its runs, of the styles in use and the defaults.
 *
 * @param parts parts with text
 * @param text the text of the document, which decides whether fonts of other scripts are in use
 */
export function fontNames(parts: readonly string[], styles: string, theme: string, text: string): string[] {
  const fromTheme = themeFonts(theme);
  const kinds = [
    ['w:ascii', 'w:asciiTheme'],
    ['w:hAnsi', 'w:hAnsiTheme'],
    ...(EAST_ASIAN.test(text) ? [['w:eastAsia', 'w:eastAsiaTheme']] : []),
    ...(COMPLEX.test(text) ? [['w:cs', 'w:cstheme']] : []),
  ];
  const fontsOf = ({ attributes }: Tag): string[] =>
    kinds.flatMap(([own = '', themed = '']) => {
      const name = fromTheme.get(attributes[themed] ?? '') ?? attributes[own];
      // LibreOffice writes lists of alternatives.
      const [first = ''] = name?.split(';') ?? [];
      return first === '' ? [] : [first];
    });

  const byId = new Map<string, Style>();
  const used: string[] = [];
  const fonts = new Set<string>();
  let style: Style | null = null;
  scanXml(styles, {
    open(tag) {
      const { name, attributes } = tag;
      if (name === 'w:style') {
        const id = attributes['w:styleId'] ?? '';
        style = { fonts: [], base: undefined };
        byId.set(id, style);
        if (/^(?:1|true|on)$/.test(attributes['w:default'] ?? '')) used.push(id);
      } else if (name === 'w:basedOn' && style !== null) style.base = attributes['w:val'];
      else if (name === 'w:rFonts') {
        if (style !== null) style.fonts.push(...fontsOf(tag));
        else for (const font of fontsOf(tag)) fonts.add(font);
      }
    },
    close(name) {
      if (name === 'w:style') style = null;
    },
  });
  for (const part of parts)
    scanXml(part, {
      open(tag) {
        if (tag.name === 'w:rFonts') for (const font of fontsOf(tag)) fonts.add(font);
        if (/^w:(?:p|r|tbl)Style$/.test(tag.name)) used.push(tag.attributes['w:val'] ?? '');
      },
    });
  const seen = new Set<string>();
  for (let id = used.pop(); id !== undefined; id = used.pop()) {
    const found = byId.get(id);
    if (found === undefined || seen.has(id)) continue;
    seen.add(id);
    for (const font of found.fonts) fonts.add(font);
    if (found.base !== undefined) used.push(found.base);
  }
  return [...fonts].sort();
}
