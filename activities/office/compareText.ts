import type { SourceText } from './sourceText.ts';

/** Result of the comparison of a source's words with those of its PDF. */
export interface TextComparison {
  /** Number of words that the source shows. */
  words: number;
  /** Number of those that the PDF lacks. */
  missing: number;
  /** Number of paragraphs with them. */
  paragraphs: number;
  /** Words that the PDF lacks but that the source need not show either, because they are in a text box, a cell of fixed height or a formula. */
  uncertain: number;
}

export interface PdfText {
  /** Text of each page. */
  pages: readonly string[];
  /** All that each of the fonts draws. */
  fonts: readonly string[];
}

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts whose letters PDFs have in another order or form than the text. */
const REORDERED =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Thai}\p{Script=Lao}\p{Script=Tibetan}\p{Script=Myanmar}\p{Script=Khmer}\p{Script=Mongolian}\p{Script=Adlam}\p{Script=Nko}\p{Script=Mandaic}\p{Script=Samaritan}\p{Script=Hanifi_Rohingya}]/u;
/** Scripts without spaces, whose lines break between any letters. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
/** The pieces of four letters in which words of unspaced scripts are compared. */
const PIECES = /.{1,4}/gu;
/** Shortest part of a word that is broken over two pages. */
const BROKEN = 3;

/** Marks above and below letters of European scripts. */
const MARKS = /[\u0300-\u036f]/g;

/**
 * Makes letters comparable that look alike: composed, ligatures, capitals by formatting. Which capital a letter has depends on the
 * language (İ in Turkish), and so do the marks of capitals; LibreOffice writes ẞ for ß.
 */
const normalize = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll('\u00ad', '')
    .toLowerCase()
    .toUpperCase()
    .normalize('NFD')
    .replaceAll(MARKS, '')
    .normalize('NFC');

function wordsOf(text: string): string[] {
  const words = normalize(text).match(WORD) ?? [];
  return words.flatMap((word) => (UNSPACED.test(word) ? (word.match(PIECES) ?? []) : [word]));
}

const count = (words: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
};

function occurrences(text: string, word: string, most: number): number {
  let found = 0;
  for (let at = text.indexOf(word); at >= 0 && found < most; at = text.indexOf(word, at + word.length))
    found += 1;
  return found;
}

/**
 * How often a word can be in two parts that are apart, as words are that end on the next page in narrow cells: as often as the PDF has
 * both parts as words more often than the source.
 */
function countBroken(
  word: string,
  words: ReadonlyMap<string, number>,
  inPdf: ReadonlyMap<string, number>,
): number {
  const surplus = (part: string) => Math.max(0, (inPdf.get(part) ?? 0) - (words.get(part) ?? 0));
  let found = 0;
  for (let at = 1; at < word.length; at++)
    found += Math.min(surplus(word.slice(0, at)), surplus(word.slice(at)));
  return found;
}

/** Whether the parts of a word that is broken over two pages are in the text. */
function isBroken(text: string, word: string): boolean {
  for (let at = BROKEN; at <= word.length - BROKEN; at++)
    if (text.includes(word.slice(0, at)) && text.includes(word.slice(at))) return true;
  return UNSPACED.test(word) && [...word].every((letter) => text.includes(letter));
}

/**
 * Whether a word can only be drawn in several fonts, because no font draws all of its letters. LibreOffice draws letters that a font lacks
 * apart from the others of their line, so that the word is not in the text of the PDF.
 */
function isInPieces(fonts: readonly ReadonlySet<string>[], word: string): boolean {
  const letters = [...word];
  return (
    letters.every((letter) => fonts.some((drawn) => drawn.has(letter))) &&
    !fonts.some((drawn) => letters.every((letter) => drawn.has(letter)))
  );
}

/** Returns for each word that the PDF lacks how often it lacks it. */
function missingWords(
  words: ReadonlyMap<string, number>,
  inPdf: ReadonlyMap<string, number>,
  letters: string,
  fonts: readonly ReadonlySet<string>[],
): Map<string, number> {
  const missing = new Map<string, number>();
  for (const [word, wanted] of words) {
    if ((inPdf.get(word) ?? 0) >= wanted) continue;
    // Words can be divided by hyphens at the ends of lines, or joined with their neighbours.
    const found = occurrences(letters, word, wanted);
    if (found === wanted) continue;
    const isDivided =
      isInPieces(fonts, word) ||
      (found === wanted - 1 && isBroken(letters, word)) ||
      found + countBroken(word, words, inPdf) >= wanted;
    if (!isDivided) missing.set(word, wanted - found);
  }
  return missing;
}

/**
 * Compares the words of a document with those of its PDF. The order is not compared, because columns, notes and text boxes have
 * another one in a PDF.
 */
export function compareText(source: SourceText, pdf: PdfText): TextComparison {
  const pdfWords = pdf.pages.flatMap(wordsOf);
  const fonts = pdf.fonts.map((drawn) => new Set(normalize(drawn)));
  const inPdf = count(pdfWords);
  const letters = pdfWords.join('');
  const paragraphs = source.sure.map(wordsOf);
  const all = paragraphs.flat();
  const sure = count(all.filter((word) => !REORDERED.test(word)));
  const missing = missingWords(sure, inPdf, letters, fonts);
  const loose = [...all.filter((word) => REORDERED.test(word)), ...source.loose.flatMap(wordsOf)];
  const uncertain = missingWords(count(loose), inPdf, letters, fonts);
  return {
    words: all.length,
    missing: sum(missing),
    paragraphs: paragraphs.filter((words) => words.some((word) => missing.has(word))).length,
    uncertain: sum(uncertain),
  };
}

const sum = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((total, number) => total + number, 0);
