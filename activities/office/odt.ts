import type { SourceText } from './sourceText.ts';
import { scanXml, type Tag } from './xml.ts';

/** Elements whose text is not shown, or is recomputed by LibreOffice. */
const SKIPPED = new Set([
  ...['office:annotation', 'text:tracked-changes', 'text:ruby-text', 'text:note-citation', 'office:forms'],
  ...['svg:title', 'svg:desc', 'text:hidden-text', 'text:hidden-paragraph', 'text:conditional-text'],
  ...['text:page-number', 'text:page-count', 'text:date', 'text:time', 'text:file-name', 'text:chapter'],
  ...['text:page-continuation', 'text:sequence-decls', 'text:variable-decls', 'text:user-field-decls'],
  ...['text:word-count', 'text:character-count', 'text:paragraph-count', 'text:template-name'],
  ...['text:bookmark-ref', 'text:reference-ref', 'text:sequence-ref', 'text:note-ref', 'text:placeholder'],
  ...['text:index-title-template', 'text:index-source-styles', 'table:covered-table-cell'],
  ...['text:creation-date', 'text:modification-date', 'text:print-date', 'text:author-name'],
  ...['text:database-display', 'text:expression', 'text:variable-get', 'text:user-field-get', 'text:title'],
  ...['text:sender-firstname', 'text:sender-lastname', 'text:initial-creator', 'text:creator'],
]);
const PARAGRAPHS = new Set(['text:p', 'text:h']);

/** Reads the text that an OpenDocument text shows, from its content.xml. */
export function readOdt(xml: string): SourceText {
  const result: SourceText = { sure: [], loose: [] };
  /** Names of styles whose text is hidden, and of those of rows of fixed height, which cut text off. */
  const hidden = new Set<string>();
  const fixed = new Set<string>();
  const path: { skipped: boolean; loose: boolean; isParagraph: boolean; text: string }[] = [];
  let style = '';
  let body = false;

  function open({ name, attributes }: Tag): void {
    if (name === 'office:text') body = true;
    if (name === 'style:style') style = attributes['style:name'] ?? '';
    if (name === 'style:text-properties' && attributes['text:display'] === 'none') hidden.add(style);
    if (name === 'style:table-row-properties' && attributes['style:row-height'] !== undefined)
      fixed.add(style);
    // A text box with a least height grows with its text, unless the text continues in another one.
    const isFixedBox =
      name === 'draw:text-box' &&
      (attributes['fo:min-height'] === undefined || attributes['draw:chain-next-name'] !== undefined);
    const isFixedRow = name === 'table:table-row' && fixed.has(attributes['table:style-name'] ?? '');
    const parent = path.at(-1);
    const isHidden =
      SKIPPED.has(name) ||
      hidden.has(attributes['text:style-name'] ?? '') ||
      attributes['text:display'] === 'none' ||
      attributes['table:visibility'] === 'collapse';
    path.push({
      skipped: (parent?.skipped ?? false) || isHidden,
      loose: (parent?.loose ?? false) || isFixedBox || isFixedRow || name === 'draw:custom-shape',
      isParagraph: PARAGRAPHS.has(name),
      text: '',
    });
    if (name === 'text:s' || name === 'text:tab' || name === 'text:line-break') write(' ');
  }

  function write(data: string): void {
    if (!body || path.at(-1)?.skipped) return;
    const paragraph = path.findLast(({ isParagraph }) => isParagraph);
    if (paragraph !== undefined) paragraph.text += data;
  }

  scanXml(xml, {
    open,
    text: write,
    close() {
      const element = path.pop();
      if (element === undefined || element.text.trim() === '') return;
      (element.loose ? result.loose : result.sure).push(element.text);
    },
  });
  return result;
}

/** Returns the font families that the styles of an OpenDocument text ask for, by its content.xml and its styles.xml. */
export function odtFonts(content: string, styles: string): string[] {
  const families = new Map<string, string>();
  const used = new Set<string>();
  const open = ({ name, attributes }: Tag): void => {
    if (name === 'style:font-face')
      families.set(
        attributes['style:name'] ?? '',
        (attributes['svg:font-family'] ?? '').replace(/^(['"])(.*)\1$/, '$2'),
      );
    const font = attributes['style:font-name'];
    if (name === 'style:text-properties' && font !== undefined) used.add(font);
  };
  scanXml(styles, { open });
  scanXml(content, { open });
  return [...new Set([...used].map((it) => families.get(it) ?? it))].filter((it) => it !== '').sort();
}
