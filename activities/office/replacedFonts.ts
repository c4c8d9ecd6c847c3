import type { Converted } from './officeProcess.ts';

/** Finds the PostScript name of a font in a PDF, without the tag of a subset (ISO 32000-2, 9.9.2). */
const BASE_FONT = /\/BaseFont\s*\/(?:[A-Z]{6}\+)?([^\s/<>[\]()]+)/g;

const withoutSpaces = (family: string): string => family.replace(/\s/g, '');
const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** Returns the families of the fonts in a PDF of LibreOffice, without spaces. */
const familiesOf = (pdf: Buffer): Set<string> =>
  new Set(
    [...pdf.toString('latin1').matchAll(BASE_FONT)].map(([, name = '']) =>
      withoutSpaces(name.split('-')[0]?.replaceAll('#20', '') ?? ''),
    ),
  );

/**
 * Returns the fonts of a document that were replaced by others. A font that is replaced but not in the PDF is used by no text.
 *
 * @param families font families that the document asks for
 * @param fonts for each, the families that may be used for it
 */
export function findReplaced(
  pdf: Buffer,
  families: readonly string[],
  fonts: Converted['fonts'],
): { font: string; replacement: string }[] {
  const used = familiesOf(pdf);
  return families.flatMap((font) => {
    const candidates = fonts[font] ?? [];
    if (candidates.some((it) => isSame(it, font))) return [];
    const replacement = candidates.find((it) => used.has(withoutSpaces(it)));
    return replacement === undefined ? [] : [{ font, replacement }];
  });
}
