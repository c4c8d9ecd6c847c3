import { applyEdits, type Edit, scanXml, type Tag } from '../xml.ts';

const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
/** Bullets of the fonts Symbol and Wingdings, which have no Unicode characters, and the characters that look like them. */
const BULLETS: Readonly<Record<string, string>> = {
  'Symbol \uf0b7': '•',
  'Wingdings \uf0a7': '▪',
  'Wingdings \uf06e': '■',
  'Wingdings \uf071': '❑',
  'Wingdings \uf076': '❖',
  'Wingdings \uf0d8': '➢',
  'Wingdings \uf0e0': '→',
  'Wingdings \uf0fc': '✓',
};
/** A font with all of these characters except the first, which all fonts have. */
const FONT = 'DejaVu Sans';

/**
 * Replaces bullets of symbol fonts by characters, so that the text of the PDF has them, as that of Word's PDFs.
 *
 * @param xml the part with numbering
 */
export function replaceBullets(xml: string): string {
  const edits: Edit[] = [];
  let text: Tag | null = null;
  let fonts: Tag | null = null;

  function replace(): void {
    if (text === null || fonts === null) return;
    const font = fonts.attributes['w:ascii'] ?? '';
    const bullet = BULLETS[`${font} ${text.attributes['w:val']}`];
    if (bullet === undefined) return;
    const tag = xml.slice(text.start, text.end);
    edits.push({ ...text, text: tag.replace(/(\bval\s*=\s*)(["']).*?\2/, `$1"${bullet}"`) });
    const names = `w:ascii="${FONT}" w:hAnsi="${FONT}"`;
    const other = font === 'Symbol' ? '' : `<w:rFonts xmlns:w="${WORD}" ${names}/>`;
    if (fonts.selfClosing) edits.push({ ...fonts, text: other });
  }

  scanXml(xml, {
    open(tag) {
      if (tag.name === 'w:lvl') {
        text = null;
        fonts = null;
      } else if (tag.name === 'w:lvlText') text = tag;
      else if (tag.name === 'w:rFonts') fonts = tag;
    },
    close(name) {
      if (name === 'w:lvl') replace();
    },
  });
  return applyEdits(xml, edits);
}
